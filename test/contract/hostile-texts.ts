// Hostile texts for random histories of contract calls: in ids, parents, URIs of objects, principals, names of permissions and
// of fields, and values of filters.
import fc from 'fast-check';
import { isStorableText } from '../../src/base/json.ts';
import { hostileIdsNear } from '../support/hostile-ids.ts';

/** What no backend can hold although JavaScript can: a lone surrogate, alone and at both ends of a text. */
const unpaired = ['\ud800', 'a\ud800', '\udc00a'];

/** Few, so that the same meet often, and now and then any. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('a\0', 'a\0b', '\0', 'a%', 'a_', 'a*', 'a ', 'а', 'a\u0301', '\u{1f600}') },
  { weight: 1, arbitrary: fc.constantFrom(...hostileIdsNear('a'), ...unpaired) },
);

/** Whether any text in the arguments of a call is one that no backend can store. */
export function holdsUnstorable(value: unknown): boolean {
  if (typeof value === 'string') return !isStorableText(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, each]) => holdsUnstorable(key) || holdsUnstorable(each));
}

/** The usual texts, and now and then a hostile one where the id stands in the form; `?` is its place. */
export function orHostile(usual: fc.Arbitrary<string>, ...forms: readonly string[]): fc.Arbitrary<string> {
  const hostile = fc
    .tuple(fc.constantFrom(...(forms.length === 0 ? ['?'] : forms)), hostileText)
    .map(([form, text]) => form.replace('?', () => text));
  return fc.oneof({ weight: 24, arbitrary: usual }, { weight: 1, arbitrary: hostile });
}
