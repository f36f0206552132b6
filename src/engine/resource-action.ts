// An operation on an object besides the verbs, at an address below that of the object.
import type { Endpoint, Operation } from './endpoint.ts';
import type { ServiceResponse } from './exchange.ts';
import type { Scope } from './scope.ts';

export interface ResourceAction {
  /** Kind of the object. */
  readonly kind: string;
  /** Unique operation id, `validate_account`. */
  readonly id: string;
  /** Path below the address of the object, such as `/validate/{key}`. */
  readonly path: string;
  /** Rules of the parts in braces. */
  readonly parameters?: Endpoint['parameters'];
  readonly method: 'POST';
  /** Accepted media types of the body; absent: the body is ignored. */
  readonly consumes?: readonly string[];
  /** Describes parameters, body and responses. */
  readonly describe?: Operation['describe'];
  /** Handles the request. The action itself checks access. */
  readonly handle: (scope: Scope) => Promise<ServiceResponse>;
}
