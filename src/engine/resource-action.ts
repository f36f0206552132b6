// Something that can be done with an object beside the verbs, at an address below the object's.
import type { Endpoint, Operation } from './endpoint.ts';
import type { ServiceResponse } from './exchange.ts';
import type { Scope } from './scope.ts';

export interface ResourceAction {
  /** Kind of the object. */
  readonly kind: string;
  /** Unique operation id, `validate_account`. */
  readonly id: string;
  /** Below the address of the object, `/validate/{key}`. */
  readonly path: string;
  /** Rules of what stands in braces in it. */
  readonly parameters?: Endpoint['parameters'];
  readonly method: 'POST';
  /** Media types of bodies it takes; absent: the body is ignored. */
  readonly consumes?: readonly string[];
  /** Describes parameters, body and responses. */
  readonly describe?: Operation['describe'];
  /** Called without any check: who may do it is for the action to decide. */
  readonly handle: (scope: Scope) => Promise<ServiceResponse>;
}
