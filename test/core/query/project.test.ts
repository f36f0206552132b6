// Which members `_fields` leaves in an object.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExactNumber, formatJson, parseJson, type JsonObject, type JsonValue } from '../../../src/base/json.ts';
import { parseFields, project } from '../../../src/core/query/project.ts';
import { attributes } from './arbitraries.ts';

const show = (value: JsonValue, fields: string): unknown => project(value as JsonObject, parseFields(fields));

describe('a projection', () => {
  const object = { id: 'a', last_modified: 5, i: 6, list: [{ k: 1 }], o: { k: 1, l: { m: 2, n: 3 } }, s: 'x' };
  const own = { id: 'a', last_modified: 5 };

  it('keeps the named members, and always id and last_modified', () => {
    expect(show(object, 's')).toEqual({ ...own, s: 'x' });
    expect(show(object, 's,unknown')).toEqual({ ...own, s: 'x' });
    expect(show(object, 'id')).toEqual(own);
    expect(show(object, ',')).toEqual(own);
    expect(show({ uri: '/a', id: 'a' }, 'uri')).toEqual({ uri: '/a', id: 'a' });
    expect(show({ uri: '/' }, 'uri')).toEqual({ uri: '/' });
  });

  it('descends by dots and merges what belongs to one object', () => {
    expect(show(object, 'o.k')).toEqual({ ...own, o: { k: 1 } });
    expect(show(object, 'o.k,o.l.n')).toEqual({ ...own, o: { k: 1, l: { n: 3 } } });
    expect(show(object, 'o.l.m,s,o.l.n')).toEqual({ ...own, s: 'x', o: { l: { m: 2, n: 3 } } });
    expect(show(object, 'o.unknown')).toEqual({ ...own, o: {} });
  });

  it('includes the parts of a member that is requested as a whole, in either order', () => {
    expect(show(object, 'o,o.k')).toEqual({ ...own, o: object.o });
    expect(show(object, 'o.k,o')).toEqual({ ...own, o: object.o });
  });

  it('shows values other than objects whole when a part of them is requested', () => {
    expect(show(object, 'i.x')).toEqual({ ...own, i: 6 });
    expect(show(object, 'list.k')).toEqual({ ...own, list: [{ k: 1 }] });
    expect(show({ id: 'a', n: new ExactNumber('1.0') }, 'n.text')).toEqual({ id: 'a', n: new ExactNumber('1.0') });
  });

  it('always keeps the mark of tombstones', () => {
    const tombstone = { id: 'a', last_modified: 5, deleted: true };
    expect(show(tombstone, 's')).toEqual(tombstone);
    expect(show(tombstone, 'deleted')).toEqual(tombstone);
    expect(show({ ...own, deleted: 'no' }, 's')).toEqual(own);
    expect(show({ ...own, deleted: 'no' }, 'deleted')).toEqual({ ...own, deleted: 'no' });
  });

  it('treats names that objects inherit as ordinary keys', () => {
    const odd = parseJson('{"id":"a","__proto__":{"x":1,"y":2},"b":{"__proto__":3}}');
    expect(formatJson(project(odd as JsonObject, parseFields('__proto__.x,constructor,b.__proto__')))).toBe(
      '{"__proto__":{"x":1},"b":{"__proto__":3},"id":"a"}',
    );
  });

  it('of all members by name is the object itself', () => {
    fc.assert(
      fc.property(attributes, (value) => {
        const whole = { ...value, id: 'a' };
        expect(show(whole, Object.keys(whole).join(','))).toEqual(whole);
      }),
    );
  });
});
