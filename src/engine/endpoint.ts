// One address of the service and its operations. Routing, 405 responses, preflights and API documentation are derived from
// these records.
import type { PathIds } from '../core/objects/object-id.ts';
import type { Caller } from './caller.ts';
import type { Context } from './context.ts';
import type { OperationDescription } from './description.ts';
import type { ServiceRequest, ServiceResponse } from './exchange.ts';
import type { UnitOfWork } from './unit-of-work.ts';

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A request whose body has not been read yet. */
export interface Arrival {
  readonly request: ServiceRequest;
  /** Ids in the path; for an alias, those of its target. */
  readonly ids: PathIds;
  readonly unit: UnitOfWork;
  readonly caller: Caller;
  /** Whether missing parents are created before the handler runs, owned by the caller: the address is an alias. */
  readonly createsParents: boolean;
}

export interface Operation {
  /** Unique name, such as `create_bucket`. */
  readonly id: string;
  /** Accepted media types of the body; absent: the body is ignored. */
  readonly consumes?: readonly string[];
  /** Response headers that scripts of other origins may read, besides the common ones. */
  readonly exposes?: readonly string[];
  /** Describes parameters, bodies and responses. Called when the first API description is created. */
  readonly describe?: () => OperationDescription;
  /**
   * Receives a streamed body before anything is written, because a slow client or a slow store of files must not hold locks.
   * An error becomes the response. Called again when the request runs again.
   */
  readonly receive?: (arrival: Arrival) => Promise<void>;
  /**
   * Requires access to an address with an unacceptable id, as far as the other ids decide, before the response names the
   * id. Absent: every caller learns that the id is refused. Nothing else runs for such an address.
   */
  readonly requireAccess?: (context: Context) => Promise<void>;
  readonly handle: (context: Context) => Promise<ServiceResponse>;
}

/** Rule for a part of a path that is not the id of an object. */
export interface ParameterRule {
  readonly accepts: (text: string) => boolean;
  /** Accepted form, for error messages. */
  readonly form: string;
}

/** Accepts text without control characters and lone surrogates. */
export const plainText: ParameterRule = {
  accepts: (text) => !/[\p{Cc}\p{Cs}]/u.test(text),
  form: 'text without control characters',
};

export interface Endpoint {
  /** Name for logs and metrics, such as `record-plural` or `batch`. */
  readonly name: string;
  /** Heading in API descriptions; default: derived from the name. */
  readonly tag?: string;
  /** Path below the version prefix with ids in braces, such as `/buckets/{bucket_id}`; a final `{*}` matches any path. */
  readonly path: string;
  /**
   * Rules of the parts of the path that are not the id of a kind (`<kind>_id`), by name. The service does not start with a
   * part that has no rule.
   */
  readonly parameters?: Readonly<Record<string, ParameterRule>>;
  readonly operations: Readonly<Partial<Record<Method, Operation>>>;
  /**
   * Whether the endpoint refuses clients that do not accept JSON, and reports wrong headers only once access is granted.
   * Other endpoints ignore `Accept`.
   */
  readonly isResource: boolean;
  /** Whether it is the list of a kind, which clients may follow. */
  readonly isList?: boolean;
  /** Whether callers are not authenticated, so that the response depends on no backend. */
  readonly ignoresCaller?: boolean;
  /** Whether no request is refused for want of credentials, although they have an effect; default `false`. */
  readonly isOpen?: boolean;
  /** Whether it is exempt from load shedding and limits, because monitors use it to check that the process is alive. */
  readonly isVital?: boolean;
  /** Whether it serves pages and files for browsers, which API descriptions leave out. */
  readonly isForBrowsers?: boolean;
  /** Whether it is for operators: if an admin port is configured, only that port serves it. */
  readonly isForOperators?: boolean;
}

/**
 * Creates the operations GET and HEAD of a read-only address.
 *
 * @param id of GET; HEAD gets the prefix `head_` in place of `get_`
 */
export function forReading(
  id: string,
  does: Operation['handle'] | Pick<Operation, 'handle' | 'requireAccess' | 'describe'>,
  exposes?: readonly string[],
): { readonly GET: Operation; readonly HEAD: Operation } {
  const parts = typeof does === 'function' ? { handle: does } : does;
  const operation = exposes === undefined ? parts : { exposes, ...parts };
  return { GET: { id, ...operation }, HEAD: { id: `head_${id.replace(/^get_/, '')}`, ...operation } };
}
