// One address of the service and what its methods do. Routing, 405 answers, preflights and API documentation all come
// from these records.
import type { Caller } from './caller.ts';
import type { Context, PathIds } from './context.ts';
import type { ServiceRequest, ServiceResponse } from './exchange.ts';
import type { Session } from './session.ts';

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A request whose body has not been read yet. */
export interface Arrival {
  readonly request: ServiceRequest;
  /** Ids as the client wrote them. */
  readonly ids: PathIds;
  readonly session: Session;
  readonly caller: Caller;
  /** Whether the address stands for another one, which is found out, and may come into being, later. */
  readonly isAlias: boolean;
}

export interface Operation {
  /** Unique name, such as `create_bucket`. */
  readonly id: string;
  /** Media types of bodies it takes; absent: the body is ignored. */
  readonly consumes?: readonly string[];
  /** Headers, beside the usual ones, that scripts of other origins may read. */
  readonly exposes?: readonly string[];
  /**
   * Takes in a body that comes as a stream, before anything is written: clients may take their time, and nobody shall
   * wait for a lock meanwhile. What it throws is the answer. Called again when the request is run again.
   */
  readonly receive?: (arrival: Arrival) => Promise<void>;
  readonly handle: (context: Context) => Promise<ServiceResponse>;
}

export interface Endpoint {
  /** Name for logs and metrics, `record-plural`, `batch`. */
  readonly name: string;
  /** Heading in descriptions of the service; default: made of the name. */
  readonly tag?: string;
  /** Path below the version prefix with ids in braces, `/buckets/{bucket_id}`; `{*}` at the end is any path. */
  readonly path: string;
  readonly operations: Readonly<Partial<Record<Method, Operation>>>;
  /**
   * Resource endpoints refuse clients that do not accept JSON, and report wrong headers only once access is granted;
   * others ignore `Accept`.
   */
  readonly isResource: boolean;
  /** Whether nobody asks who calls, so that the answer depends on no backend. */
  readonly ignoresCaller?: boolean;
  /** Whether it is answered whatever the load and the limits: by it others see that the process is alive. */
  readonly isVital?: boolean;
  /** Whether it is for those who run the service: it is served on their port alone where they have one. */
  readonly isForOperators?: boolean;
}

/**
 * The operations of an address that is only read: GET, and HEAD named after it.
 *
 * @param id of GET; where it begins with `get_`, that of HEAD begins with `head_` instead
 */
export function forReading(
  id: string,
  handle: Operation['handle'],
  exposes?: readonly string[],
): { readonly GET: Operation; readonly HEAD: Operation } {
  const operation = exposes === undefined ? { handle } : { exposes, handle };
  return { GET: { id, ...operation }, HEAD: { id: `head_${id.replace(/^get_/, '')}`, ...operation } };
}
