// Dispatches a request value to its response value: finds the endpoint, applies the general rules (redirects, end of service,
// read-only mode, preflight, method, media types, identity), runs the handler, and adds the common headers. Called once per
// batch entry too.
import type { Clock } from '../base/clock.ts';
import { TransactionConflict, UnstorableText } from '../contracts/errors.ts';
import type { Logger } from '../contracts/logger.ts';
import { invalidParameters, ServiceError } from '../core/errors.ts';
import type { Context, Renewal } from '../engine/context.ts';
import type { Endpoint, Method, Operation } from '../engine/endpoint.ts';
import { LaterBody, type ResponseHeaders, type ServiceRequest, type ServiceResponse } from '../engine/exchange.ts';
import type { UnitOfWork } from '../engine/unit-of-work.ts';
import { WorkAwaited } from '../engine/work-ahead.ts';
import { anonymous, type Caller } from '../engine/caller.ts';
import type { Alias, AliasedRequest, AliasRequest } from './alias.ts';
import { allowedMethods, type Cors } from './cors.ts';
import { errorResponse, type ErrorOptions } from './errors.ts';
import { rejectCrossSiteRequest } from './csrf.ts';
import type { LiveSessions } from './authentication/live-session.ts';
import type { Identities } from './identity.ts';
import { CompletedRequest, Note } from './observed-request.ts';
import { cachingForOne, canonicalName } from './response-headers.ts';
import type { Admission } from './rate-limits/rate-limits.ts';
import { namesHtml, requireUsableTypes } from './negotiation.ts';
import type { OperatorNotices } from './operator-notices.ts';
import type { Route, Router } from './router.ts';
import {
  locate,
  parseTarget,
  redirectTo,
  withoutPrefixes,
  withoutTrailingSlash,
  type Place,
  type RedirectOptions,
  type Target,
} from './target.ts';

/** Shared state of all entries of an outer request. */
export interface Outer {
  readonly unit: UnitOfWork;
  readonly identities: Identities;
  /** Facts for the observer, if one is set; each batch entry has its own. */
  readonly note?: Note | undefined;
  /** Result of the rate limits, if any are set. */
  readonly admission?: Admission | undefined;
  /** Opens another unit of work for the same outer request. */
  readonly reopen: () => Reopened;
}

/** A further unit of work of an outer request, for what goes on after its response has begun. */
export interface Reopened {
  readonly outer: Outer;
  readonly end: () => Promise<void>;
}

export interface DispatchOptions {
  readonly router: Router;
  readonly aliases: readonly Alias[];
  readonly cors: Cors;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly errors: ErrorOptions;
  readonly redirects: RedirectOptions;
  readonly notices: OperatorNotices;
  readonly place: Place;
  readonly readonly: boolean;
  /** Paths also served without version prefix, for load balancers that do not follow redirects. */
  readonly unversionedPaths: ReadonlySet<string>;
  /** Path below the version prefix to which the root of the site redirects browsers; `undefined` for none. */
  readonly frontPage: string | undefined;
  /** Sessions of browsers for live updates; absent: there are none. */
  readonly liveSessions?: LiveSessions | undefined;
  /** `Strict-Transport-Security` in responses over TLS; `undefined` for none. */
  readonly transportSecurity: string | undefined;
}

const safeMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

export class Dispatcher {
  readonly #options: DispatchOptions;
  /** The front page, if this router serves it: the public port may lack pages for operators. */
  readonly #frontPage: string | undefined;
  readonly #rootPath: string;

  constructor(options: DispatchOptions) {
    this.#options = options;
    const { frontPage, router, place } = options;
    this.#rootPath = `${place.pathPrefix}/`;
    this.#frontPage = frontPage === undefined || router.find(frontPage) === undefined ? undefined : frontPage;
  }

  /**
   * Handles a request. Errors become responses, except those that end the whole outer request: see `UnitOfWork.end`.
   */
  async dispatch(request: ServiceRequest, outer: Outer): Promise<ServiceResponse> {
    const { cors, errors, liveSessions, logger, notices } = this.#options;
    let operation: Operation | undefined;
    let response: ServiceResponse;
    let takesCookies = false;
    try {
      notices.requireOpen();
      const target = parseTarget(request.target);
      const found = this.#find(request, target);
      if ('redirect' in found) return this.#finish(request, found.redirect, undefined);
      if (found.route === undefined) {
        // Requests to unknown paths count against rate limits too.
        await outer.admission?.arrive(request, found);
        throw new ServiceError('unknownPath');
      }
      if (outer.note !== undefined) outer.note.route = found.route;
      takesCookies = liveSessions !== undefined && (isLive(found, target) || found.below === '/live/session');
      if (request.method === 'OPTIONS') {
        const preflight = cors.preflight(found.route.endpoint, request);
        return this.#finish(request, preflight, undefined, takesCookies);
      }
      operation = findOperation(found.route.endpoint, request.method);
      this.#requireAllowed(request, target, found.route.endpoint, operation);
      response = await this.#handle(request, target, found, outer);
      if (response.body instanceof LaterBody) {
        return { ...response, body: this.#finishLater(request, response.body, operation, takesCookies) };
      }
    } catch (error) {
      // The whole outer request is retried.
      if (error instanceof TransactionConflict || error instanceof WorkAwaited) throw error;
      response = errorResponse(error, request.id, errors, logger);
      // A backend may have refused the request after some of its writes.
      if (response.status === 409 || error instanceof UnstorableText) outer.unit.setRollbackOnly();
      if (outer.note !== undefined) noteRefusal(outer.note, request, error);
    }
    return this.#finish(request, response, operation, takesCookies);
  }

  /** Gives a response that is known only later the headers that every response has. */
  #finishLater(request: ServiceRequest, { later }: LaterBody, operation: Operation, takesCookies: boolean): LaterBody {
    const { errors, logger } = this.#options;
    const finish = async (signal: AbortSignal): Promise<ServiceResponse> => {
      let answer: ServiceResponse;
      try {
        answer = await later(signal);
      } catch (error) {
        answer = errorResponse(error, request.id, errors, logger);
      }
      return this.#finish(request, answer, operation, takesCookies);
    };
    return new LaterBody(finish);
  }

  /** Returns the response for a failure outside of dispatch: at the socket, or during the commit. */
  refuse(request: ServiceRequest, error: unknown): ServiceResponse {
    const { errors, logger } = this.#options;
    return this.#finish(request, errorResponse(error, request.id, errors, logger), undefined);
  }

  #find(request: ServiceRequest, target: Target): Found | Nowhere | { readonly redirect: ServiceResponse } {
    const { router, place, redirects, unversionedPaths, readonly } = this.#options;
    const isReading = request.method === 'GET' || request.method === 'HEAD';
    if (this.#frontPage !== undefined && isReading && target.path === this.#rootPath) {
      return { redirect: this.#leaveRoot(request, target, this.#frontPage) };
    }
    const isUnversioned = unversionedPaths.has(target.path);
    // Browsers do not follow redirects of preflights, so the target of the redirect answers them.
    const located =
      isUnversioned || (request.method === 'OPTIONS' && !target.path.startsWith(`${place.versionPrefix}/`))
        ? { below: withoutPrefixes(target.path, place) }
        : locate(target, place, request.origin, redirects);
    if ('redirect' in located) return located;
    const route = router.find(located.below);
    if (route !== undefined) return { route, below: located.below };
    const redirect = withoutTrailingSlash(target, request.origin, redirects);
    if (redirect !== undefined) return { redirect };
    if (readonly && !safeMethods.includes(request.method)) {
      throw new ServiceError('methodNotAllowed', { headers: { Allow: safeMethods.join(', ') } });
    }
    return { below: located.below };
  }

  /** Redirects browsers to the front page. Other clients get the response for paths without a version. */
  #leaveRoot(request: ServiceRequest, target: Target, frontPage: string): ServiceResponse {
    const { place, redirects } = this.#options;
    const located = namesHtml(request.headers['accept'])
      ? { redirect: redirectTo(`${request.origin}${place.versionPrefix}${frontPage}`, -1) }
      : locate(target, place, request.origin, redirects);
    if (!('redirect' in located)) throw new ServiceError('unknownPath');
    const { status, headers, body } = located.redirect;
    return { status, headers: { ...headers, Vary: 'Accept' }, body };
  }

  #requireAllowed(
    request: ServiceRequest,
    { query }: Target,
    endpoint: Endpoint,
    operation: Operation | undefined,
  ): asserts operation {
    const isRefused = this.#options.readonly && !safeMethods.includes(request.method);
    if (operation === undefined || isRefused) {
      throw new ServiceError('methodNotAllowed', { headers: { Allow: allowedMethods(endpoint).join(', ') } });
    }
    requireUsableTypes(endpoint, operation, request.headers, query);
    if (safeMethods.includes(request.method)) return;
    rejectCrossSiteRequest(endpoint, operation, request);
    // Before any read or write: an alias may create objects.
    const refusedOrigin = this.#options.cors.checkOrigin(request);
    if (refusedOrigin !== undefined) throw invalidParameters([refusedOrigin]);
  }

  async #handle(sent: ServiceRequest, target: Target, found: Found, outer: Outer): Promise<ServiceResponse> {
    const { liveSessions } = this.#options;
    const request = liveSessions !== undefined && isLive(found, target) ? liveSessions.authenticate(sent) : sent;
    const { unit, identities, note, admission } = outer;
    const { ignoresCaller } = found.route.endpoint;
    // Before the verification of passwords, the most expensive work for anonymous requests.
    if (admission !== undefined) await admission.arrive(request, found);
    const caller = ignoresCaller === true ? anonymous : await identities.resolve(request, unit, found.below);
    if (note !== undefined) note.caller = caller;
    try {
      return await this.#serve(request, target, found, { outer, caller });
    } catch (error) {
      await caller.once?.giveBack();
      throw error;
    }
  }

  /** Serves a request of a known caller. */
  async #serve(
    request: ServiceRequest,
    target: Target,
    found: Found,
    { outer, caller: sender }: { readonly outer: Outer; readonly caller: Caller },
  ): Promise<ServiceResponse> {
    let caller = sender;
    const { cors, clock } = this.#options;
    const { unit, identities, admission } = outer;
    if (admission !== undefined && found.route.endpoint.ignoresCaller !== true) {
      await admission.admitCaller(request, found, caller);
    }
    const { receive } = findOperation(found.route.endpoint, request.method)!;
    const alias = this.#findAlias(found);
    let served: Served = { route: found.route, below: found.below, request };
    if (alias !== undefined) served = await this.#resolveAlias(alias, { request, path: found.below, unit, caller });
    const { endpoint, ids, parameters, refused } = served.route;
    if (receive !== undefined && refused === undefined) {
      await receive({ request, ids, unit, caller, createsParents: served.prepare !== undefined });
      caller = await identities.confirm(caller, request, unit, found.below);
    }
    const refusedOrigin = cors.checkOrigin(request);
    const context: Context = {
      request: served.request,
      path: served.below,
      ids,
      parameters,
      query: target.query,
      unit,
      caller,
      issues: refusedOrigin === undefined ? [] : [refusedOrigin],
      now: clock.now(),
      dispatch: (entry) => this.#dispatchEntry(entry, outer),
      authenticate: (entries) => identities.prepare(entries),
      renew: () => this.#renew(context, outer, found.below),
    };
    // The actual path of an alias is of the same kind, with the same methods.
    const operation = findOperation(endpoint, request.method)!;
    if (refused !== undefined) {
      // Objects below an alias belong to the caller, so the issues may be shown.
      if (alias === undefined) await operation.requireAccess?.(context);
      throw invalidParameters([...context.issues, ...refused]);
    }
    if (!endpoint.isResource && context.issues.length > 0) throw invalidParameters(context.issues);
    await served.prepare?.();
    return operation.handle(context);
  }

  async #renew(context: Context, { reopen }: Outer, below: string): Promise<Renewal> {
    const { outer, end } = reopen();
    const { unit, identities } = outer;
    const caller = await identities.resolve(context.request, unit, below);
    const renewed: Context = {
      ...context,
      unit,
      caller,
      issues: [],
      now: this.#options.clock.now(),
      dispatch: (entry) => this.#dispatchEntry(entry, outer),
      authenticate: (entries) => identities.prepare(entries),
    };
    return { context: renewed, end };
  }

  #findAlias({ below }: Found): Alias | undefined {
    return this.#options.aliases.find(({ path }) => below === path || below.startsWith(`${path}/`));
  }

  #dispatchEntry(request: ServiceRequest, outer: Outer): Promise<ServiceResponse> {
    return outer.note === undefined ? this.dispatch(request, outer) : this.#dispatchNoted(request, outer, outer.note);
  }

  async #dispatchNoted(request: ServiceRequest, outer: Outer, { observer, entries }: Note): Promise<ServiceResponse> {
    const startedAt = performance.now();
    const note = new Note(observer);
    const work = async (): Promise<CompletedRequest> => {
      const response = await this.dispatch(request, { ...outer, note });
      return new CompletedRequest(request, response, note, startedAt);
    };
    const { method, headers } = request;
    const answered = await (observer.enclose === undefined
      ? work()
      : observer.enclose({ kind: 'entry', method, headers }, work));
    // A batch follows redirects: the next response is that of the entry.
    if (answered.status !== 307) entries.push(answered);
    return answered.response;
  }

  async #resolveAlias(alias: Alias, question: AliasRequest): Promise<Served> {
    const { path, request, prepare } = await alias.resolve(question);
    const route = this.#options.router.find(path);
    if (route === undefined) throw new ServiceError('unknownPath');
    return { route, below: path, request, prepare };
  }

  /** @param takesCookies whether cookies may authenticate requests to this address */
  #finish(
    request: ServiceRequest,
    response: ServiceResponse,
    operation: Operation | undefined,
    takesCookies = false,
  ): ServiceResponse {
    const { cors, notices, transportSecurity } = this.#options;
    const { method, headers: sent, origin } = request;
    // One literal, extended in place: spreads take many times longer.
    const headers: ResponseHeaders = {
      'Content-Type': 'application/json',
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none';",
    };
    for (const name in response.headers) headers[canonicalName(name)] = response.headers[name]!;
    cors.addTo(headers, request);
    if (takesCookies) cors.addCredentials(headers, request);
    const { accept } = sent;
    // `EventSource` and images cannot answer a challenge: browsers would ask the user for a password, and block the page.
    if ((takesCookies && accept === 'text/event-stream') || accept?.startsWith('image/') === true) {
      delete headers['WWW-Authenticate'];
    }
    if (method !== 'OPTIONS') headers['Access-Control-Expose-Headers'] = cors.exposedHeaders(operation);
    // Shared caches must not serve a response for one caller to others.
    if (sent['authorization'] !== undefined && (method === 'GET' || method === 'HEAD') && response.status !== 307) {
      headers['Cache-Control'] = cachingForOne(headers['Cache-Control']);
    }
    if (transportSecurity !== undefined && origin.startsWith('https:')) {
      headers['Strict-Transport-Security'] = transportSecurity;
    }
    notices.addTo(headers);
    return { status: response.status, headers, body: response.body, errno: response.errno };
  }
}

/** Whether the request asks for live updates: of a list, or of several. */
function isLive({ below, route }: Found, { query }: Target): boolean {
  return below === '/live' || (route.endpoint.isList === true && query.some(([name]) => name === '_live'));
}

/** Returns the operation of a method. Only own properties count, because methods are client input. */
function findOperation({ operations }: Endpoint, method: string): Operation | undefined {
  return Object.hasOwn(operations, method) ? operations[method as Method] : undefined;
}

function noteRefusal({ observer, route, caller }: Note, request: ServiceRequest, error: unknown): void {
  if (!(error instanceof ServiceError) || (error.key !== 'forbidden' && error.key !== 'missingAuthToken')) return;
  const { method, id: requestId } = request;
  const permission = method === 'POST' ? 'create' : safeMethods.includes(method) ? 'read' : 'write';
  const uri = (route?.endpoint.path ?? '').replaceAll(/\{(\w+)\}/g, (_, name: string) => route?.ids[name] ?? '');
  observer.observe({ kind: 'refusal', permission, uri, userId: caller?.userId, requestId });
}

interface Served extends Found {
  readonly request: ServiceRequest;
  readonly prepare?: AliasedRequest['prepare'];
}

/** An unknown path. */
interface Nowhere {
  readonly route?: undefined;
  readonly below: string;
}

interface Found {
  readonly route: Route;
  /** Path below the version prefix. */
  readonly below: string;
}
