import { describe, expect, it } from 'vitest';
import { createInheritance, settingName, type PermissionKind } from '../../../src/core/permissions/inheritance.ts';

const bucketWrite = { kind: 'bucket', entry: 'write' };
const bucketRead = { kind: 'bucket', entry: 'read' };
const collection = (entry: string) => ({ kind: 'collection', entry });
const record = (entry: string) => ({ kind: 'record', entry });

const kinds: readonly PermissionKind[] = [
  {
    name: 'bucket',
    path: '/buckets',
    permissions: {
      names: ['read', 'write', 'collection:create'],
      granted: {
        write: [bucketWrite],
        read: [bucketWrite, bucketRead],
        'collection:create': [bucketWrite, { kind: 'bucket', entry: 'collection:create' }],
      },
    },
  },
  {
    name: 'collection',
    path: '/buckets/{bucket_id}/collections',
    permissions: {
      names: ['read', 'write', 'record:create'],
      granted: {
        write: [bucketWrite, collection('write')],
        'read:attributes': [
          bucketWrite,
          bucketRead,
          collection('write'),
          collection('read'),
          collection('record:create'),
        ],
        'record:create': [bucketWrite, collection('write'), collection('record:create')],
      },
    },
  },
  {
    name: 'record',
    path: '/buckets/{bucket_id}/collections/{collection_id}/records',
    permissions: {
      names: ['read', 'write'],
      granted: {
        read: [bucketWrite, bucketRead, collection('write'), collection('read'), record('write'), record('read')],
      },
    },
  },
];
const ids = { bucket_id: 'b', collection_id: 'c', record_id: 'r' };

describe('inheritance', () => {
  const inheritance = createInheritance(kinds);

  it('binds a permission to the entries of the object and of its parents', () => {
    const c = '/buckets/b/collections/c';
    expect(inheritance.rule('record', 'read').bind(ids)).toEqual([
      { objectId: '/buckets/b', permission: 'write' },
      { objectId: '/buckets/b', permission: 'read' },
      { objectId: c, permission: 'write' },
      { objectId: c, permission: 'read' },
      { objectId: `${c}/records/r`, permission: 'write' },
      { objectId: `${c}/records/r`, permission: 'read' },
    ]);
  });

  it('derives setting names from the kind of the endpoint, and those of create permissions from the permission', () => {
    expect(inheritance.rule('collection', 'record:create', 'record').settingNames).toEqual([
      'record_write_principals',
      'record_create_principals',
    ]);
    expect(inheritance.rule('bucket', 'collection:create', 'collection').settingNames).toEqual([
      'collection_write_principals',
      'collection_create_principals',
    ]);
    expect(inheritance.rule('record', 'read').settingNames).toEqual([
      'record_write_principals',
      'record_read_principals',
    ]);
  });

  it('uses only settings on the root and for permissions that no entry grants', () => {
    const create = inheritance.rule('', 'bucket:create', 'bucket');
    expect(create.settingNames).toEqual(['bucket_create_principals']);
    expect(create.bind({})).toEqual([]);
    expect(inheritance.rule('', 'read', 'bucket').settingNames).toEqual(['bucket_read_principals']);
    expect(inheritance.rule('bucket', 'constructor').bind({ bucket_id: 'b' })).toEqual([]);
  });

  it('binds the entries of single objects of a list by pattern, without inherited ones', () => {
    expect(inheritance.rule('collection', 'read:attributes').bindList({ bucket_id: 'b' })).toEqual([
      { pattern: '/buckets/b/collections/*', permission: 'write' },
      { pattern: '/buckets/b/collections/*', permission: 'read' },
      { pattern: '/buckets/b/collections/*', permission: 'record:create' },
    ]);
  });

  it('returns the same rule again', () => {
    expect(inheritance.rule('record', 'read')).toBe(inheritance.rule('record', 'read', 'record'));
  });

  it('refuses a declaration that names a kind outside its path', () => {
    const stray = { names: ['read'], granted: { read: [{ kind: 'collection', entry: 'read' }] } };
    expect(() => createInheritance([...kinds, { name: 'note', path: '/notes', permissions: stray }])).toThrow(/note/);
  });

  it('refuses a declaration that relies on an entry the kind cannot store', () => {
    const stray = { names: ['read'], granted: { read: [{ kind: 'bucket', entry: 'publish' }] } };
    const note = { name: 'note', path: '/buckets/{bucket_id}/notes', permissions: stray };
    expect(() => createInheritance([...kinds, note])).toThrow(/publish/);
  });

  it('keeps the name of an entry of another kind in the setting', () => {
    expect(settingName('bucket', 'collection:create')).toBe('bucket_collection:create_principals');
    expect(settingName('w', 'write')).toBe('w_write_principals');
  });
});
