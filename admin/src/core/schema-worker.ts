// The worker that checks objects against JSON Schemas. Schemas and their patterns come from other users, so the check runs
// apart from the page, which can end it. It interprets schemas, as the policy of the page requires.
import { format, Validator, type OutputUnit, type SchemaDraft } from '@cfworker/json-schema';
import type { CheckAnswer, CheckRequest, RowFault } from './schema-check.ts';

// The service does not enforce formats either.
for (const name of Object.keys(format)) Reflect.deleteProperty(format, name);

/** Keywords that only repeat that a part has a fault. */
const containers = new Set(['properties', 'items', 'allOf', '$ref', 'additionalItems', 'patternProperties']);
const shownFaults = 3;
/** Attributes that schemas do not see. */
const hidden = ['last_modified', 'schema'];

interface Check {
  readonly validator: Validator;
  readonly seesId: boolean;
}

let checks: readonly Check[] = [];

function prepare(text: string): Check {
  const schema = JSON.parse(text) as Record<string, unknown>;
  const { properties, required } = schema;
  const seesId = typeof properties === 'object' && properties !== null && Object.hasOwn(properties, 'id');
  const unseen = seesId ? hidden : [...hidden, 'id'];
  const seen = Array.isArray(required)
    ? { ...schema, required: required.filter((name: unknown) => typeof name !== 'string' || !unseen.includes(name)) }
    : schema;
  return { validator: new Validator(seen, draftOf(schema['$schema'])), seesId };
}

function draftOf(name: unknown): SchemaDraft {
  const [, draft] = /\/(draft-04|draft\/2019-09|draft\/2020-12)\//.exec(String(name)) ?? [];
  if (draft === 'draft-04') return '4';
  return draft === 'draft/2019-09' ? '2019-09' : draft === 'draft/2020-12' ? '2020-12' : '7';
}

function faultOf(row: string): RowFault | undefined {
  for (const { validator, seesId } of checks) {
    const value = JSON.parse(row) as Record<string, unknown>;
    for (const name of seesId ? hidden : [...hidden, 'id']) Reflect.deleteProperty(value, name);
    const { valid, errors } = validator.validate(value);
    if (!valid) return { description: describe(errors) };
  }
  return undefined;
}

function describe(errors: readonly OutputUnit[]): string {
  const exact = errors.filter(({ keyword }) => !containers.has(keyword));
  return (exact.length > 0 ? exact : errors)
    .slice(0, shownFaults)
    .map((fault) => {
      const at = fault.instanceLocation.replace(/^#\/?/, '').replaceAll('/', '.');
      const reason = reasonOf(fault);
      return at === '' ? reason : `${at}: ${reason}`;
    })
    .join('; ');
}

/** Faults in the words of the service, by the words of the validator. */
const wordings: readonly (readonly [RegExp, string | ((...parts: readonly string[]) => string)])[] = [
  [/^Instance type .* Expected (.*)\.$/, (types = '') => `expected ${namesOf(types).map(withArticle).join(' or ')}`],
  [/^Instance does not have required property "(.*)"\.$/, 'the property $1 is missing'],
  [/^Instance does not match any of \[(.*)\]\.$/, (values = '') => `expected one of ${values.replaceAll(',', ', ')}`],
  [/^Instance does not match (.*)\.$/, 'expected $1'],
  [/^.* is not a multiple of (.*)\.$/, 'expected a multiple of $1'],
  [/^String is too short \(.* < (.*)\)\.$/, 'expected at least $1 characters'],
  [/^String is too long \(.* > (.*)\)\.$/, 'expected at most $1 characters'],
  [/^Array has too few items \(.* < (.*)\)\.$/, 'expected at least $1 items'],
  [/^Array has too many items \(.* > (.*)\)\.$/, 'expected at most $1 items'],
  [/^Duplicate items .*$/, 'expected items that differ from each other'],
  [/^Instance does not have at least (.*) properties\.$/, 'expected at least $1 properties'],
  [/^Instance does not have at most (.*) properties\.$/, 'expected at most $1 properties'],
  [/^Property "(.*)" does not match additional properties schema\.$/, 'the property $1 is not allowed'],
  [/^False boolean schema\.$/, 'nothing is allowed here'],
  [/^String does not match pattern\.$/, 'expected text that matches the pattern'],
];
/** Keywords whose limit is the last word of the fault. */
const limits: Readonly<Record<string, string>> = {
  minimum: 'of at least',
  maximum: 'of at most',
  exclusiveMinimum: 'above',
  exclusiveMaximum: 'below',
};

function reasonOf({ keyword, error }: OutputUnit): string {
  const words = limits[keyword];
  const limit = / than (?:or equal to )?(\S+)\.$/.exec(error)?.[1];
  if (words !== undefined && limit !== undefined) return `expected a number ${words} ${limit}`;
  if (keyword === 'anyOf') return 'none of the schemas of anyOf matches';
  if (keyword === 'oneOf') return `${error.includes('(0 ') ? 'none' : 'more than one'} of the schemas of oneOf match`;
  for (const [pattern, wording] of wordings) {
    const parts = pattern.exec(error);
    if (parts === null) continue;
    return typeof wording === 'string' ? wording.replace('$1', () => parts[1] ?? '') : wording(...parts.slice(1));
  }
  return error;
}

function namesOf(list: string): readonly string[] {
  return list.split(', ').map((name) => name.replaceAll('"', ''));
}

function withArticle(type: string): string {
  if (type === 'null') return type;
  return /^[aio]/.test(type) ? `an ${type}` : `a ${type}`;
}

function answer({ schemas, rows }: CheckRequest): CheckAnswer {
  try {
    if (schemas !== undefined) checks = schemas.map(prepare);
    return { faults: rows.map(faultOf) };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

self.addEventListener('message', ({ data }: MessageEvent<CheckRequest>) => self.postMessage(answer(data), {}));
