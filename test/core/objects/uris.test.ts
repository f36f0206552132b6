import fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import type { ListName } from '../../../src/core/lists/list-key.ts';
import type { ObjectId } from '../../../src/core/objects/object-id.ts';
import {
  compileUriTemplate,
  createUriParser,
  objectTemplate,
  type ListParent,
  type ObjectUri,
} from '../../../src/core/objects/uris.ts';
import type { Principal, UserId } from '../../../src/core/permissions/principals.ts';

const templates = new Map([
  ['bucket', objectTemplate('bucket', '/buckets')],
  ['group', objectTemplate('group', '/buckets/{bucket_id}/groups')],
  ['collection', objectTemplate('collection', '/buckets/{bucket_id}/collections')],
  ['record', objectTemplate('record', '/buckets/{bucket_id}/collections/{collection_id}/records')],
]);
const parse = createUriParser(templates);

describe('object URIs', () => {
  it('are written from a template and ids', () => {
    expect(templates.get('group')).toBe('/buckets/{bucket_id}/groups/{group_id}');
    expect(compileUriTemplate(templates.get('group')!)({ bucket_id: 'b', group_id: 'g' })).toBe('/buckets/b/groups/g');
    expect(compileUriTemplate('/buckets')({})).toBe('/buckets');
  });

  it('are parsed back to kind and ids', () => {
    expect(parse('/buckets/b/collections/c')).toEqual({
      kind: 'collection',
      ids: { bucket_id: 'b', collection_id: 'c' },
      uri: '/buckets/b/collections/c',
    });
    for (const other of [
      '',
      '/',
      'buckets/b',
      '/buckets',
      '/buckets/',
      '/buckets/b/',
      '/buckets/b/x/c',
      '/buckets//groups/g',
      '//b',
    ]) {
      expect(parse(other)).toBeUndefined();
    }
  });

  it('survive a round trip through text', () => {
    const id = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9_-]*$/);
    fc.assert(
      fc.property(fc.constantFrom(...templates.keys()), id, id, id, (kind, bucket, child, record) => {
        const all: Record<string, string> = {
          bucket_id: bucket,
          group_id: child,
          collection_id: child,
          record_id: record,
        };
        const address = parse(compileUriTemplate(templates.get(kind)!)(all))!;
        expect(address.kind).toBe(kind);
        for (const [name, value] of Object.entries(address.ids)) expect(value).toBe(all[name]);
      }),
    );
  });

  it('cannot be written without all ids', () => {
    expect(() => compileUriTemplate('/x/{constructor}')({})).toThrow(/an id is missing for .*constructor/);
  });

  it('need a well-formed template', () => {
    for (const bad of ['x', '/x/', '/x/a{id}', '/{}', '/x//y']) expect(() => compileUriTemplate(bad)).toThrow();
  });
});

// The compiler checks these.
describe('object URIs, principals, user ids, ids and names of lists', () => {
  it('are distinct types that no text has by itself', () => {
    expectTypeOf<string>().not.toExtend<ObjectUri | Principal | ListParent | ListName | ObjectId>();
    expectTypeOf<ObjectUri>().not.toExtend<Principal | ListName | ObjectId>();
    expectTypeOf<Principal>().not.toExtend<UserId | ObjectUri | ListParent>();
    expectTypeOf<ObjectId | ListName>().not.toExtend<ObjectUri | Principal | ListParent>();
  });

  it('are texts; a user is a principal, and an object or a user can be the parent of a list', () => {
    expectTypeOf<ListParent | ListName | Principal>().toExtend<string>();
    expectTypeOf<UserId>().toExtend<Principal>();
    expectTypeOf<ObjectUri | UserId | ''>().toExtend<ListParent>();
  });
});
