// Sessions for the `EventSource` of browsers, which cannot send `Authorization`: a cookie that holds the credentials, encrypted,
// and counts for live updates alone. The credentials are checked anew for each request, so the session ends with them.
import { isJsonObject, getKey, parseJson } from '../../base/json.ts';
import type { Clock } from '../../base/clock.ts';
import { invalidParameters, ServiceError } from '../../core/errors.ts';
import type { DescribedHeader } from '../../engine/description.ts';
import type { Endpoint } from '../../engine/endpoint.ts';
import { jsonResponse, type ServiceRequest } from '../../engine/exchange.ts';
import { cookieName, formatCookie, parseCookies, seal, unseal, type CookieScope } from '../cookies.ts';

export interface LiveSessionOptions {
  /** 32 bytes, the same in all processes. */
  readonly key: Buffer;
  /** Prefix of all addresses, to which the cookie is limited without TLS: `/v1`. */
  readonly versionPrefix: string;
  readonly clock: Clock;
  /** Whether pages of the origin of the request may use the cookie: it is the service's own, or listed by name. */
  readonly isNamedOrigin: (request: ServiceRequest) => boolean;
}

const name = 'coffer-live';
const purpose = 'live session';
const validSeconds = 3600;
/** Browsers accept 4,096 bytes for a cookie with its attributes. */
const maxCookieChars = 3800;

const cookieHeader: DescribedHeader = {
  name: 'Set-Cookie',
  description: `The cookie \`${name}\`, HttpOnly and SameSite=Lax: limited to the paths of the API, or over https Secure and with the prefix \`__Host-\`.`,
  schema: { type: 'string' },
  isAlwaysSent: true,
};

export class LiveSessions {
  readonly #options: LiveSessionOptions;

  constructor(options: LiveSessionOptions) {
    this.#options = options;
  }

  /**
   * Returns the request with the credentials of its cookie. Requests without a valid cookie, with credentials of their own or
   * from pages of other origins stay as they are.
   *
   * @param request for live updates
   */
  authenticate(request: ServiceRequest): ServiceRequest {
    const { headers, method } = request;
    if (method !== 'GET' || headers['authorization'] !== undefined || headers['cookie'] === undefined) return request;
    const sealed = parseCookies(headers['cookie']).get(cookieName(name, this.#scopeOf(request)));
    if (sealed === undefined || !this.#options.isNamedOrigin(request)) return request;
    const authorization = this.#read(sealed);
    return authorization === undefined ? request : { ...request, headers: { ...headers, authorization } };
  }

  /** The endpoint that begins and ends sessions. */
  get endpoint(): Endpoint {
    return {
      name: 'live-session',
      tag: 'live',
      path: '/live/session',
      isResource: false,
      operations: {
        POST: {
          id: 'create_live_session',
          describe: () => ({
            summary: 'Begins a session for live updates in browsers.',
            details:
              'Sets a cookie, valid for an hour, with which an `EventSource` is authenticated. It counts for `GET` with `_live` and for `GET /live` alone.',
            responses: {
              201: {
                description: 'The session has begun.',
                schema: { type: 'object', properties: { expires: { type: 'integer' } } },
                headers: [cookieHeader],
              },
            },
          }),
          handle: ({ request, caller }) => {
            const { authorization } = request.headers;
            if (caller.userId === undefined) throw new ServiceError('missingAuthToken');
            if (authorization === undefined) throw unusable('a session needs credentials in the header Authorization');
            const expires = this.#options.clock.now() + validSeconds * 1000;
            const value = seal(JSON.stringify({ authorization, expires }), this.#options.key, purpose);
            if (value.length > maxCookieChars) throw unusable('the credentials are too long for a cookie');
            const headers = { 'Set-Cookie': this.#format(request, value, validSeconds) };
            return Promise.resolve(jsonResponse(201, { expires }, headers));
          },
        },
        DELETE: {
          id: 'delete_live_session',
          describe: () => ({
            summary: 'Ends the session for live updates of this browser.',
            responses: { 204: { description: 'The cookie is removed.', headers: [cookieHeader] } },
          }),
          handle: ({ request }) => {
            const headers = { 'Set-Cookie': this.#format(request, '', 0) };
            return Promise.resolve({ status: 204, headers, body: '' });
          },
        },
      },
    };
  }

  #format(request: ServiceRequest, value: string, maxAgeSeconds: number): string {
    return formatCookie(name, value, maxAgeSeconds, this.#scopeOf(request));
  }

  #scopeOf({ origin }: ServiceRequest): CookieScope {
    return { origin, path: this.#options.versionPrefix };
  }

  #read(sealed: string): string | undefined {
    const text = unseal(sealed, this.#options.key, purpose);
    const value = text === undefined ? undefined : parseJson(text);
    if (!isJsonObject(value)) return undefined;
    const [authorization, expires] = [getKey(value, 'authorization'), getKey(value, 'expires')];
    const isValid = typeof expires === 'number' && expires > this.#options.clock.now();
    return isValid && typeof authorization === 'string' ? authorization : undefined;
  }
}

function unusable(description: string): ServiceError {
  return invalidParameters([{ location: 'header', name: 'Authorization', description }]);
}
