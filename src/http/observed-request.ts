// Observations of requests: the facts that dispatch collects, and the observation built from them. Only with an observer.
import type { Answered, Observer, RequestObservation } from '../contracts/observer.ts';
import type { PathIds } from '../core/objects/object-id.ts';
import type { UserId } from '../core/permissions/principals.ts';
import type { Caller } from '../engine/caller.ts';
import type { ResponseBody, ServiceRequest, ServiceResponse } from '../engine/exchange.ts';
import type { Route } from './router.ts';

/** Facts about a request that dispatch collects. */
export class Note {
  readonly observer: Observer;
  route: Route | undefined;
  caller: Caller | undefined;
  /** Completed entries of a batch. */
  readonly entries: Answered[] = [];

  constructor(observer: Observer) {
    this.observer = observer;
  }
}

const noIds: PathIds = {};

/** A completed batch entry; base class of a completed outer request. */
export class CompletedRequest implements Answered {
  readonly response: ServiceResponse;
  readonly milliseconds: number;
  protected readonly request: ServiceRequest;
  protected readonly note: Note | undefined;

  /** @param startedAt by the clock of `performance.now()` */
  constructor(request: ServiceRequest, response: ServiceResponse, note: Note | undefined, startedAt: number) {
    this.request = request;
    this.response = response;
    this.note = note;
    this.milliseconds = performance.now() - startedAt;
  }

  get method(): string {
    return this.request.method;
  }

  get path(): string {
    const target = withoutAuthority(this.request.target);
    const mark = target.indexOf('?');
    const path = mark === -1 ? target : target.slice(0, mark);
    return path.replace(activationKey, '$1[removed]');
  }

  get query(): string {
    const { target } = this.request;
    const mark = target.indexOf('?');
    if (mark === -1 || confidential.test(target.slice(0, mark))) return '';
    return redact(target.slice(mark + 1), this.note?.route?.endpoint.isResource === true);
  }

  get endpoint(): string | undefined {
    return this.note?.route?.endpoint.name;
  }

  get route(): string | undefined {
    return this.note?.route?.endpoint.path;
  }

  get ids(): PathIds {
    return this.note?.route?.ids ?? noIds;
  }

  get status(): number {
    return this.response.status;
  }

  get errno(): number {
    return this.response.errno ?? 0;
  }

  get userId(): UserId | undefined {
    return this.note?.caller?.userId;
  }
}

/** A completed outer request. */
export class CompletedOuterRequest extends CompletedRequest implements RequestObservation {
  readonly kind = 'request';
  /** The caller; for a batch, the first authenticated caller of its entries. */
  readonly #userId: UserId | undefined;

  constructor(
    request: ServiceRequest,
    response: ServiceResponse,
    { note, userId }: { readonly note: Note | undefined; readonly userId: UserId | undefined },
    startedAt: number,
  ) {
    super(request, response, note, startedAt);
    this.#userId = userId;
  }

  override get userId(): UserId | undefined {
    return this.#userId;
  }

  get requestId(): string {
    return this.request.id;
  }

  get agent(): string | undefined {
    return this.request.headers['user-agent'];
  }

  get language(): string | undefined {
    return this.request.headers['accept-language'];
  }

  /** `Content-Length` of the request; 0 for chunked bodies. */
  get requestBytes(): number {
    const length = Number(this.request.headers['content-length'] ?? 0);
    return Number.isSafeInteger(length) ? length : 0;
  }

  /** Size of the sent body; 0 for streamed files. */
  get responseBytes(): number {
    const isEmpty = this.method === 'HEAD' || this.status === 304 || this.status === 204;
    return isEmpty ? 0 : sizeOf(this.response.body);
  }

  get plan(): string | undefined {
    const plan = this.response.headers['Query-Plan'];
    return typeof plan === 'string' ? plan : undefined;
  }

  get entries(): readonly Answered[] | undefined {
    return this.endpoint === 'batch' ? this.note?.entries : undefined;
  }
}

function sizeOf(body: ResponseBody): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  if (body instanceof Uint8Array) return body.byteLength;
  return Array.isArray(body) ? sizeOfPieces(body) : 0;
}

function sizeOfPieces(pieces: readonly string[]): number {
  return pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
}

/** Strips the authority of an absolute target, which may contain user and password. */
function withoutAuthority(target: string): string {
  if (target.startsWith('/')) return target;
  const slash = target.indexOf('/', target.indexOf('//') + 2);
  return slash === -1 ? '' : target.slice(slash);
}

/** Paths whose whole queries are secret: codes and states of logins. */
const confidential = /\/openid\//;
/** One-time keys of accounts, which are part of the path. */
const activationKey = /(\/accounts\/[^/]+\/validate\/)[^/]+/;
const secretNames = /^(?:access_token|id_token|refresh_token|token|password|secret|api_key)$/i;
/** Secret parameters of logins and signed URLs. In lists of records they are ordinary filters. */
const loginNames = /^(?:code|state|key|signature)$/i;

function redact(query: string, isResource: boolean): string {
  if (!query.includes('=')) return query;
  const parts = query.split('&').map((part) => {
    const name = part.slice(0, Math.max(0, part.indexOf('=')));
    const isSecret = secretNames.test(name) || (!isResource && loginNames.test(name));
    return isSecret ? `${name}=[removed]` : part;
  });
  return parts.join('&');
}
