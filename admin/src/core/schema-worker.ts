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
    .map(({ instanceLocation, error }) => {
      const at = instanceLocation.replace(/^#\/?/, '').replaceAll('/', '.');
      return at === '' ? error : `${at}: ${error}`;
    })
    .join(' ');
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
