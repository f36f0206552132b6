// Names of keys: everything of a parent in one slot, different names for different parents, registries found by prefix.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { toPrincipal } from '../../../src/core/permissions/principals.ts';
import { compareText } from '../../../src/core/query/compare.ts';
import {
  dirname,
  escapeTag,
  grantsOf,
  Keys,
  parentOf,
  rangeOfGrants,
  unescapeTag,
} from '../../../src/backends/redis/keys.ts';

const keys = new Keys('test:');
const texts = fc.string({ unit: fc.constantFrom('a', 'b', '/', '%', '}', '{', '|', '~', ' ', 'é', ':') });

/** Returns the part that Redis hashes: between the first opening brace and the first closing one after it. */
function hashedPart(key: string): string {
  const open = key.indexOf('{');
  return key.slice(open + 1, key.indexOf('}', open));
}

describe('keys', () => {
  it('have the whole parent as hash tag, with any characters.', () => {
    fc.assert(
      fc.property(texts, texts, (parent, kind) => {
        const all = [
          ...keys.list({ parent: storedParent(parent), kind }),
          ...keys.lease({ parent: storedParent(parent), kind }),
          keys.entries(parent),
          keys.granted(parent),
        ];
        expect(new Set(all.map(hashedPart))).toEqual(new Set([keys.tag(parent).slice(1, -1)]));
        expect(new Set(all).size).toBe(all.length);
      }),
    );
  });

  it('differ for different lists.', () => {
    fc.assert(
      fc.property(fc.tuple(texts, texts), fc.tuple(texts, texts), (a, b) => {
        const of = ([parent, kind]: readonly [string, string]): readonly string[] =>
          keys.list({ parent: storedParent(parent), kind });
        const isSame = a[0] === b[0] && a[1] === b[1];
        expect(of(a).some((key) => of(b).includes(key))).toBe(isSame);
      }),
    );
  });

  it('are escaped without loss, and texts with a common prefix keep it.', () => {
    fc.assert(
      fc.property(texts, texts, (prefix, rest) => {
        expect(unescapeTag(escapeTag(prefix))).toBe(prefix);
        expect(escapeTag(prefix + rest).startsWith(escapeTag(prefix))).toBe(true);
      }),
    );
  });

  it('are escaped into texts of the same order.', () => {
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        expect(Math.sign(compareText(escapeTag(a), escapeTag(b)))).toBe(Math.sign(compareText(a, b)));
      }),
    );
  });

  it('find the registry of a text among those of each of its prefixes.', () => {
    fc.assert(
      fc.property(texts, texts, (prefix, rest) => {
        expect(keys.shardsOf(prefix)).toContain(keys.shard(prefix + rest));
        expect(keys.shardsOf(`${prefix}/`)).toContain(keys.shard(`${prefix}/${rest}`));
      }),
    );
  });

  it('find the registry of a parent among those of the texts below it.', () => {
    for (const uri of ['', '/buckets/a', '/buckets/a/collections/c', '/x', 'x', 'x/y', '//', '/a/', '/a/b/']) {
      expect(keys.shardsOf(`${uri}/`), uri).toContain(keys.shard(uri));
    }
  });

  it('refuse a prefix that would end the hash tag.', () => {
    expect(() => new Keys('a}')).toThrow('braces');
  });
});

describe('grants of a principal', () => {
  const principals = fc.string({ unit: fc.constantFrom('a', '/', '\u0001', '\u0002', '\u0003', 'é') });

  it('are the members of the range of that principal, and of no other.', () => {
    fc.assert(
      fc.property(principals, principals, principals, (a, b, objectId) => {
        const [low, high] = rangeOfGrants(grantsOf(toPrincipal(a))).map((bound) => Buffer.from(bound.slice(1)));
        const member = Buffer.from(grantsOf(toPrincipal(b)) + objectId);
        expect(member.compare(low!) >= 0 && member.compare(high!) < 0).toBe(a === b);
      }),
    );
  });
});

describe('places of objects', () => {
  it('are the parents of their lists.', () => {
    expect(parentOf('/buckets/a')).toBe('');
    expect(parentOf('/buckets/a/groups/g')).toBe('/buckets/a');
    expect(parentOf('/buckets/a/collections/c/records/r')).toBe('/buckets/a/collections/c');
    for (const odd of ['', 'a', '/', '/a', 'a/b']) expect(parentOf(odd)).toBe('');
    expect(dirname('/buckets/a')).toBe('/buckets');
  });
});
