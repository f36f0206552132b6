// Compiles a schema to a validator. Schemas come from clients, so no code is generated, the compilation takes linear time,
// and every step of a validation is counted.
import { abbreviate } from '../../base/abbreviate.ts';
import { getKey, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { StepBudget } from '../../base/json-steps.ts';
import type { Steps } from '../../base/steps.ts';
import { applicators, compileUnevaluated } from './applicators.ts';
import { assertions } from './assertions.ts';
import { dialectOf, fail, type Compiler, type Dialect } from './keyword.ts';
import { References, subschemas, type Resource, type Target } from './references.ts';
import { isPending, Run, Seen, UnusableSchema, type Check, type Verdict } from './run.ts';
import { compileSafePattern, UnsupportedPattern, type SafePattern } from './safe-pattern.ts';

/** Maximum number of instructions of all patterns of a schema, because their compilation takes time too. */
const maxPatternInstructions = 10_000;

/** Returns the first failure of a value; throws UnusableSchema or TooMuchWork. */
export type Validator = (value: JsonValue) => Steps<Verdict>;

/**
 * Compiles a schema.
 *
 * @throws UnusableSchema when a keyword has an invalid value
 */
export function* compileSchema(schema: JsonObject): Steps<Validator> {
  const compiler = new SchemaCompiler(schema, yield* References.of(schema, dialectOf(schema)));
  yield* compileParts(schema, (part) => {
    try {
      compiler.check(part);
    } catch (error) {
      // Only the parts that the whole schema uses have to be usable.
      if (!(error instanceof UnusableSchema)) throw error;
    }
  });
  const check = compiler.check(schema);
  return function* validate(value) {
    const found = check(value, new Run());
    return isPending(found) ? yield* found : found;
  };
}

/**
 * Compiles all parts of a schema, including those that only references use.
 *
 * @throws UnusableSchema
 */
export function* requireUsableSchema(schema: JsonObject): Steps<void> {
  const compiler = new SchemaCompiler(schema, yield* References.of(schema, dialectOf(schema)));
  yield* compileParts(schema, (part) => void compiler.check(part));
}

/** Compiles inner parts before outer ones, so that each step compiles one part. */
function* compileParts(
  schema: JsonObject,
  compile: (part: JsonObject) => void,
  budget: StepBudget = new StepBudget(),
): Steps<void> {
  for (const inner of subschemas(schema)) yield* compileParts(inner, compile, budget);
  compile(schema);
  if (budget.spend(partCost)) yield;
}

/** Number of members whose copying takes as long as the compilation of a part. */
const partCost = 10;

const always: Check = () => undefined;
const never: Check = () => fail('false schema', 'nothing is allowed here');

class SchemaCompiler implements Compiler {
  readonly dialect: Dialect;
  readonly #references: References;
  readonly #checks = new Map<JsonObject, Check>();
  readonly #patterns = new Map<string, SafePattern>();
  #patternInstructions = 0;

  constructor(document: JsonObject, references: References) {
    this.dialect = dialectOf(document);
    this.#references = references;
  }

  check(schema: JsonValue): Check {
    if (schema === true) return always;
    if (schema === false) return never;
    if (!isJsonObject(schema)) throw new UnusableSchema('a schema must be an object or a boolean');
    let check = this.#checks.get(schema);
    if (check === undefined) {
      check = this.#compile(schema);
      this.#checks.set(schema, check);
    }
    return check;
  }

  pattern(text: string): SafePattern {
    let pattern = this.#patterns.get(text);
    if (pattern !== undefined) return pattern;
    try {
      pattern = compileSafePattern(text);
    } catch (error) {
      if (!(error instanceof UnsupportedPattern)) throw error;
      throw new UnusableSchema(`the pattern ${abbreviate(text, 200)} cannot be used: ${error.message}`, {
        cause: error,
      });
    }
    this.#patternInstructions += pattern.size;
    if (this.#patternInstructions > maxPatternInstructions) throw new UnusableSchema('the patterns are too complex');
    this.#patterns.set(text, pattern);
    return pattern;
  }

  #compile(schema: JsonObject): Check {
    const resource = this.#references.resourceOf(schema);
    const checks = this.#compileReferences(schema, resource);
    // Up to draft 7 a reference replaces the whole schema.
    if (checks.length === 0 || this.dialect >= 2019) checks.push(...this.#compileKeywords(schema));
    let check = sequence(checks);
    if (this.dialect >= 2019) check = this.#addUnevaluated(schema, check);
    return this.#references.isDynamic ? inScope(resource, check) : check;
  }

  #compileKeywords(schema: JsonObject): Check[] {
    const checks: Check[] = [];
    for (const key of Object.keys(schema)) {
      const value = schema[key]!;
      const row = assertions.get(key) ?? applicators.get(key);
      if (row === undefined || this.dialect < (row.since ?? 0) || this.dialect > (row.until ?? Infinity)) continue;
      const check = row.make(value, schema, this);
      if (check !== undefined) checks.push(check);
    }
    return checks;
  }

  #addUnevaluated(schema: JsonObject, check: Check): Check {
    const items = getKey(schema, 'unevaluatedItems');
    const properties = getKey(schema, 'unevaluatedProperties');
    if (items === undefined && properties === undefined) return check;
    const last = [
      ...(items === undefined ? [] : [compileUnevaluated('unevaluatedItems', items, this)]),
      ...(properties === undefined ? [] : [compileUnevaluated('unevaluatedProperties', properties, this)]),
    ];
    return function* apply(value, run, outer) {
      const seen = new Seen();
      const found = check(value, run, seen);
      let failure = isPending(found) ? yield* found : found;
      for (const finish of last) failure ??= yield* finish(value, run, seen);
      if (failure === undefined) outer?.merge(seen);
      return failure;
    };
  }

  #compileReferences(schema: JsonObject, resource: Resource): Check[] {
    const checks: Check[] = [];
    const reference = getKey(schema, '$ref');
    if (typeof reference === 'string') checks.push(this.#compileReference(reference, resource));
    const recursive = this.dialect === 2019 ? getKey(schema, '$recursiveRef') : undefined;
    if (typeof recursive === 'string') checks.push(this.#compileRecursive(recursive, resource));
    const dynamic = this.dialect === 2020 ? getKey(schema, '$dynamicRef') : undefined;
    if (typeof dynamic === 'string') checks.push(this.#compileDynamic(dynamic, resource));
    return checks;
  }

  #compileReference(reference: string, resource: Resource): Check {
    let check: Check | undefined;
    return (value, run, seen) => {
      // Resolved at the first use: the target may still be compiling, or not exist.
      check ??= this.#checkTarget(this.#require(reference, resource));
      return check(value, run, seen);
    };
  }

  /** Compiles a reference to the outermost entered resource with a recursive anchor. */
  #compileRecursive(reference: string, resource: Resource): Check {
    return (value, run, seen) => {
      let target = this.#require(reference, resource);
      if (isRecursive(target.schema)) {
        const outermost = (run.scope as Resource[]).find(({ root }) => isRecursive(root));
        if (outermost !== undefined) target = { schema: outermost.root, resource: outermost };
      }
      return this.#checkTarget(target)(value, run, seen);
    };
  }

  /** Compiles a reference to the outermost entered schema with the dynamic anchor. */
  #compileDynamic(reference: string, resource: Resource): Check {
    const hash = reference.indexOf('#');
    const anchor = hash === -1 || reference[hash + 1] === '/' ? undefined : reference.slice(hash + 1);
    return (value, run, seen) => {
      let target = this.#require(reference, resource);
      if (anchor !== undefined && target.resource.dynamicAnchors.get(anchor) === target.schema) {
        const outermost = (run.scope as Resource[]).find(({ dynamicAnchors }) => dynamicAnchors.has(anchor));
        if (outermost !== undefined) target = { schema: outermost.dynamicAnchors.get(anchor)!, resource: outermost };
      }
      return this.#checkTarget(target)(value, run, seen);
    };
  }

  #require(reference: string, resource: Resource): Target {
    const target = this.#references.resolve(reference, resource);
    if (target === undefined)
      throw new UnusableSchema(`the reference ${abbreviate(reference, 100)} cannot be resolved`);
    return target;
  }

  #checkTarget({ schema, resource }: Target): Check {
    const check = this.check(schema);
    return this.#references.isDynamic ? inScope(resource, check) : check;
  }
}

function isRecursive(schema: JsonValue): boolean {
  return isJsonObject(schema) && getKey(schema, '$recursiveAnchor') === true;
}

/** Tracks the entered resources while the check runs. */
function inScope(resource: Resource, check: Check): Check {
  return (value, run, seen) => {
    if (run.scope.at(-1) === resource) return check(value, run, seen);
    run.scope.push(resource);
    const found = check(value, run, seen);
    if (isPending(found)) return leaveScope(found, run);
    run.scope.pop();
    return found;
  };
}

function* leaveScope(found: Steps<Verdict>, run: Run): Steps<Verdict> {
  const failure = yield* found;
  run.scope.pop();
  return failure;
}

function sequence(checks: readonly Check[]): Check {
  const count = checks.length;
  if (count === 0) return always;
  return (value, run, seen) => {
    run.enter(count);
    for (let index = 0; index < count; index++) {
      const found = checks[index]!(value, run, seen);
      if (found === undefined) continue;
      if (isPending(found)) return finishSequence(found, checks, index + 1, { value, run, seen });
      run.leave();
      return found;
    }
    run.leave();
    return undefined;
  };
}

/** Runs the rest of a sequence after a check that continues in steps. */
function* finishSequence(
  pending: Steps<Verdict>,
  checks: readonly Check[],
  from: number,
  { value, run, seen }: { readonly value: JsonValue; readonly run: Run; readonly seen: Seen | undefined },
): Steps<Verdict> {
  let failure = yield* pending;
  for (let index = from; index < checks.length && failure === undefined; index++) {
    if (run.isDue) yield;
    const found = checks[index]!(value, run, seen);
    failure = isPending(found) ? yield* found : found;
  }
  run.leave();
  return failure;
}
