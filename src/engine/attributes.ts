// Attributes that a kind declares by a JSON Schema. What clients send is stripped of unknown attributes or refused,
// completed with defaults, converted where the kind asks for it, and then checked. Compiled when the service starts.
import { getKey, isJsonObject, parseJson, setKey, type JsonObject, type MutableJsonObject } from '../base/json.ts';
import { copyMembers } from '../base/json-steps.ts';
import { runAtOnce, type Steps } from '../base/steps.ts';
import { checkSchema } from '../core/schema/check-schema.ts';
import { validateAgainst } from '../core/schema/validate.ts';
import { compileCompletion } from './attribute-completion.ts';
import type { Complain, ResourceKind } from './kind.ts';

/** A compiled declaration. */
export interface AttributeRules {
  /** The schema as JSON, for descriptions of the API. */
  readonly schema: JsonObject;
  /** Returns the attributes to store; complains about the first that does not fit the schema. */
  readonly check: (attributes: JsonObject, complain: Complain) => Steps<JsonObject>;
}

/** Maximum number of unknown attributes that are reported for one object. */
const maxReported = 10;

/**
 * Compiles the declared attributes of a kind; returns `undefined` when it declares none.
 *
 * @throws Error for a schema that cannot be used, naming the kind
 */
export function compileAttributes({ name, attributes }: ResourceKind): AttributeRules | undefined {
  if (attributes === undefined) return undefined;
  const { unknown = 'keep', coerce = false } = attributes;
  // A copy, so that later changes by the plugin have no effect.
  const schema = parseJson(JSON.stringify(attributes.schema));
  const fault = runAtOnce(checkSchema(schema));
  if (fault !== undefined || !isJsonObject(schema)) {
    throw new Error(`The schema of the resource kind ${name} cannot be used: ${fault}.`);
  }
  const declared = getKey(schema, 'properties');
  if (unknown !== 'keep' && (!isJsonObject(declared) || Object.hasOwn(schema, 'patternProperties'))) {
    throw new Error(
      `The resource kind ${name} can ${unknown} only attributes that \`properties\` alone does not name.`,
    );
  }
  const known = new Set(isJsonObject(declared) ? Object.keys(declared) : []);
  const complete = compileCompletion(schema, { coerce });
  requireFittingDefaults(name, schema);
  return {
    schema,
    *check(sent, complain) {
      const kept = unknown === 'drop' ? yield* withoutUnknown(sent, known) : sent;
      if (unknown === 'refuse') complainOfUnknown(sent, known, complain);
      const completed = complete === undefined ? kept : yield* complete(kept);
      const failure = yield* validateAgainst(schema, completed, { internalFields: [] });
      if (failure !== undefined) complain(String(failure.name), failure.description);
      return completed;
    },
  };
}

function* withoutUnknown(sent: JsonObject, known: ReadonlySet<string>): Steps<JsonObject> {
  if (Object.keys(sent).every((key) => known.has(key))) return sent;
  const kept: MutableJsonObject = {};
  yield* copyMembers(sent, kept, (key) => !known.has(key));
  return kept;
}

function complainOfUnknown(sent: JsonObject, known: ReadonlySet<string>, complain: Complain): void {
  const unknown = Object.keys(sent).filter((key) => !known.has(key));
  const names = known.size === 0 ? 'none' : [...known].join(', ');
  for (const key of unknown.slice(0, maxReported)) complain(key, `unknown attribute; known are: ${names}`);
}

/** Refuses defaults that do not fit their own property: every request without the property would fail. */
function requireFittingDefaults(kind: string, schema: JsonObject): void {
  const declared = getKey(schema, 'properties');
  if (!isJsonObject(declared)) return;
  for (const [property, rule] of Object.entries(declared)) {
    const byDefault = isJsonObject(rule) ? getKey(rule, 'default') : undefined;
    if (byDefault === undefined) continue;
    const value: MutableJsonObject = {};
    setKey(value, property, byDefault);
    const { required: _, ...others } = schema;
    const failure = runAtOnce(validateAgainst(others, value, { internalFields: [] }));
    if (failure?.name !== property) continue;
    throw new Error(`The default of ${property} of the resource kind ${kind} does not fit: ${failure.description}.`);
  }
}
