// Validators with the interface of Standard Schema (https://standardschema.dev), version 1.
import { CofferError } from './errors.ts';

interface Issue {
  readonly message: string;
}

type Result<O> = { readonly value: O; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

/** What the client uses of a Standard Schema validator. */
export interface Validator<I = unknown, O = I> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Result<O> | Promise<Result<O>>;
    readonly types?: { readonly input: I; readonly output: O } | undefined;
  };
}

/** Type that a validator accepts. */
export type InputOf<V extends Validator> = NonNullable<V['~standard']['types']>['input'];
/** Type that a validator returns. */
export type OutputOf<V extends Validator> = NonNullable<V['~standard']['types']>['output'];

/**
 * Returns what the validator makes of the value.
 *
 * @throws CofferError of kind `validation`
 */
export async function validate(validator: Validator | undefined, value: object): Promise<object> {
  if (!validator) return value;
  const result = await validator['~standard'].validate(value);
  if (!result.issues) return result.value as object;
  const message = result.issues.map((issue) => issue.message).join('; ');
  throw new CofferError('validation', message, { issues: result.issues, details: value });
}
