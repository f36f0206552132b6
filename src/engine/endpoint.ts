// One address of the service and what its methods do. Routing, 405 answers, preflights and API documentation all come
// from these records.
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
  /** Ids in the path as the client wrote it; where the address is an alias, those of the alias. */
  readonly ids: PathIds;
  readonly unit: UnitOfWork;
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
  /** Describes parameters, bodies and responses, called when the first description of the API is made. */
  readonly describe?: () => OperationDescription;
  /**
   * Takes in a body that comes as a stream, before anything is written: clients may take their time, and nobody shall
   * wait for a lock meanwhile. What it throws is the answer. Called again when the request is run again.
   */
  readonly receive?: (arrival: Arrival) => Promise<void>;
  /**
   * Requires access to an address in which an id is not acceptable, as far as the other ids tell, before the refusal of the
   * id is sent. Absent: every caller learns that the id is refused. Nothing else runs for such an address.
   */
  readonly requireAccess?: (context: Context) => Promise<void>;
  readonly handle: (context: Context) => Promise<ServiceResponse>;
}

/** What a part of a path may hold that is not the id of an object. */
export interface ParameterRule {
  readonly accepts: (text: string) => boolean;
  /** The accepted form in words, for error messages. */
  readonly form: string;
}

/** Text in one piece: no control characters, no lone surrogates. */
export const plainText: ParameterRule = {
  accepts: (text) => !/[\p{Cc}\p{Cs}]/u.test(text),
  form: 'text without control characters',
};

export interface Endpoint {
  /** Name for logs and metrics, `record-plural`, `batch`. */
  readonly name: string;
  /** Heading in descriptions of the service; default: made of the name. */
  readonly tag?: string;
  /** Path below the version prefix with ids in braces, `/buckets/{bucket_id}`; `{*}` at the end is any path. */
  readonly path: string;
  /**
   * Rules of the parts of the path that are not the id of a kind (`<kind>_id`), by name. A part without a rule keeps the
   * service from starting.
   */
  readonly parameters?: Readonly<Record<string, ParameterRule>>;
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
  /** Whether it serves pages and files for browsers. Descriptions of the API leave it out. */
  readonly isForBrowsers?: boolean;
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
  does: Operation['handle'] | Pick<Operation, 'handle' | 'requireAccess' | 'describe'>,
  exposes?: readonly string[],
): { readonly GET: Operation; readonly HEAD: Operation } {
  const parts = typeof does === 'function' ? { handle: does } : does;
  const operation = exposes === undefined ? parts : { exposes, ...parts };
  return { GET: { id, ...operation }, HEAD: { id: `head_${id.replace(/^get_/, '')}`, ...operation } };
}
