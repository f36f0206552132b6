// Hostile texts for random histories of contract calls: in ids, parents, URIs of objects, principals, names of permissions
// and fields, and values of filters.
import fc from 'fast-check';
import { isStorableText } from '../../src/base/json.ts';
import { hostileIdsNear } from '../support/hostile-ids.ts';

/** Texts that no backend can store although JavaScript can: a lone surrogate, alone and at both ends of a text. */
const unpaired = ['\ud800', 'a\ud800', '\udc00a'];

/** Few, so that equal ones occur often, and sometimes any. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('a\0', 'a\0b', '\0', 'a%', 'a_', 'a*', 'a ', 'а', 'a\u0301', '\u{1f600}') },
  { weight: 1, arbitrary: fc.constantFrom(...hostileIdsNear('a'), ...unpaired) },
);

/** Whether an argument of a call contains a text that no backend can store. */
export function holdsUnstorable(value: unknown): boolean {
  if (typeof value === 'string') return !isStorableText(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, each]) => holdsUnstorable(key) || holdsUnstorable(each));
}

/** Returns a usual text, and sometimes a hostile one in place of `?` in the form. */
export function orHostile(usual: fc.Arbitrary<string>, ...forms: readonly string[]): fc.Arbitrary<string> {
  const hostile = fc
    .tuple(fc.constantFrom(...(forms.length === 0 ? ['?'] : forms)), hostileText)
    .map(([form, text]) => form.replace('?', () => text));
  return fc.oneof({ weight: 24, arbitrary: usual }, { weight: 1, arbitrary: hostile });
}
