// The drafts of JSON Schema, told apart by `$schema`.
import { getKey, type JsonObject } from '../../base/json.ts';

/** Draft 3, 4, 6, 7, 2019-09 or 2020-12; comparable, later drafts are greater. */
export type Dialect = 3 | 4 | 6 | 7 | 2019 | 2020;

const names: readonly (readonly [RegExp, Dialect])[] = [
  [/^https?:\/\/json-schema\.org\/draft-03\/schema#?$/, 3],
  [/^https?:\/\/json-schema\.org\/draft-04\/schema#?$/, 4],
  [/^https?:\/\/json-schema\.org\/draft-06\/schema#?$/, 6],
  [/^https?:\/\/json-schema\.org\/draft-07\/schema#?$/, 7],
  [/^https?:\/\/json-schema\.org\/draft\/2019-09\/schema#?$/, 2019],
  [/^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/, 2020],
];

/** The draft a schema is written in: draft 7 when it does not say, or names one of its own. */
export function dialectOf(schema: JsonObject): Dialect {
  const name = getKey(schema, '$schema');
  if (typeof name !== 'string') return 7;
  return names.find(([pattern]) => pattern.test(name))?.[1] ?? 7;
}
