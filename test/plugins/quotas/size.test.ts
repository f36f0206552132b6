// The size of an object for quotas.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatAttributes, StoredObject } from '../../../src/core/objects/stored.ts';
import { sizeOf } from '../../../src/plugins/quotas/size.ts';

/** Formats compact JSON with all but printable ASCII escaped. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

describe('The size of an object', () => {
  it('is the length of its JSON in ASCII, including id and timestamp.', () => {
    expect(sizeOf(new StoredObject('r', 5, '{}'))).toBe('{"id":"r","last_modified":5}'.length);
    expect(sizeOf(new StoredObject('r', 5, '{"a":[1,2]}'))).toBe('{"a":[1,2],"id":"r","last_modified":5}'.length);
    expect(sizeOf(new StoredObject('r', 5, '{"a":"é"}'))).toBe(
      String.raw`{"a":"\u00e9","id":"r","last_modified":5}`.length,
    );
    expect(sizeOf(new StoredObject('r', 5, '{"a":"😀"}'))).toBe(
      String.raw`{"a":"\ud83d\ude00","id":"r","last_modified":5}`.length,
    );
  });

  it('is 0 for tombstones and absent objects.', () => {
    expect(sizeOf({ id: 'r', lastModified: 5, deleted: true })).toBe(0);
    expect(sizeOf(undefined)).toBe(0);
  });

  it('equals the length of the escaped JSON for every object.', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer())),
        (attributes) => {
          const { id: _id, last_modified: _time, ...own } = attributes;
          const text = formatAttributes(own);
          const size = sizeOf(new StoredObject('r', 5, text));
          expect(size).toBe(asciiJson({ ...(JSON.parse(text) as object), id: 'r', last_modified: 5 }).length);
        },
      ),
    );
  });
});
