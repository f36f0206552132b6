// Cross-origin resource sharing: allowed origins, headers that scripts may read, and preflight responses.
import { invalidParameters, type Issue } from '../core/errors.ts';
import type { Endpoint, Operation } from '../engine/endpoint.ts';
import type { ResponseHeaders, ServiceRequest, ServiceResponse } from '../engine/exchange.ts';

export interface CorsOptions {
  /** Shell-style patterns of allowed origins. */
  readonly origins: readonly string[];
  /**
   * Whether the host of a request is known to be one of the service, so that its origin is always allowed. Otherwise a foreign
   * name that resolves to this machine would count as the own origin.
   */
  readonly trustsOwnOrigin: boolean;
  /** Cache time of preflight responses; `undefined` sends no header. */
  readonly maxAgeSeconds: number | undefined;
  /** Additional exposed headers of every response. */
  readonly exposes?: readonly string[];
}

/** The origin of the sending page and that of the service, as the request names it. */
type Caller = Pick<ServiceRequest, 'headers' | 'origin'>;

/** `Sec-Fetch-Site` of requests by pages of the own origin, by the user, and by clients that are no browsers. */
const ownSites: readonly (string | undefined)[] = ['same-origin', 'none', undefined];

const alwaysExposed = ['Backoff', 'Retry-After', 'Alert', 'Content-Length', 'Content-Type'];

export class Cors {
  readonly #any: boolean;
  readonly #trustsOwnOrigin: boolean;
  readonly #patterns: readonly RegExp[];
  readonly #names: ReadonlySet<string>;
  readonly #maxAgeSeconds: number | undefined;
  readonly #always: readonly string[];
  readonly #exposed = new WeakMap<Operation, string>();

  constructor(options: CorsOptions) {
    this.#any = options.origins.includes('*');
    this.#trustsOwnOrigin = options.trustsOwnOrigin;
    this.#patterns = options.origins.map(originPattern);
    this.#names = new Set(options.origins.filter((origin) => !/[*?]/.test(origin)));
    this.#maxAgeSeconds = options.maxAgeSeconds;
    this.#always = [...alwaysExposed, ...(options.exposes ?? [])];
  }

  /** Returns `Access-Control-Allow-Origin` for a request; `undefined` without an origin or for a refused one. */
  allowedOrigin({ headers, origin: ownOrigin }: Caller): string | undefined {
    const { origin } = headers;
    if (origin === undefined) return undefined;
    if (this.#any) return '*';
    if (this.#trustsOwnOrigin && origin === ownOrigin) return origin;
    return this.#patterns.some((pattern) => pattern.test(origin)) ? origin : undefined;
  }

  /** Whether the origin of the request is the service's own, or one that is listed by name; also without an origin. */
  isNamedOrigin({ headers, origin: ownOrigin }: Caller): boolean {
    const { origin } = headers;
    // Another port of this machine is the same site. Its images and scripts send the cookie, without an origin.
    if (origin === undefined) return ownSites.includes(headers['sec-fetch-site']);
    return (this.#trustsOwnOrigin && origin === ownOrigin) || this.#names.has(origin);
  }

  /** Adds the CORS headers, and `Vary` when they depend on the origin, even for refused origins. */
  addTo(headers: ResponseHeaders, sent: Caller): void {
    const allowed = this.allowedOrigin(sent);
    if (allowed !== undefined) headers['Access-Control-Allow-Origin'] = allowed;
    if (this.#any) return;
    const others = headers['Vary'];
    headers['Vary'] = others === undefined ? 'Origin' : `${String(others)}, Origin`;
  }

  /** Lets pages of origins that are listed by name send cookies and read the response. */
  addCredentials(headers: ResponseHeaders, sent: Caller): void {
    const { origin } = sent.headers;
    if (origin === undefined || !this.isNamedOrigin(sent)) return;
    headers['Access-Control-Allow-Credentials'] = 'true';
    // Browsers accept no wildcard with cookies.
    headers['Access-Control-Allow-Origin'] = origin;
    if (this.#any) headers['Vary'] = headers['Vary'] === undefined ? 'Origin' : `${String(headers['Vary'])}, Origin`;
  }

  /** Returns the issue of a request with a refused origin. */
  checkOrigin(request: Caller): Issue | undefined {
    if (request.headers['origin'] === undefined || this.allowedOrigin(request) !== undefined) return undefined;
    return { location: 'header', name: 'Origin', description: 'this origin is not allowed' };
  }

  /** Returns `Access-Control-Expose-Headers`. */
  exposedHeaders(operation: Operation | undefined): string {
    if (operation === undefined) return this.#always.join(', ');
    let text = this.#exposed.get(operation);
    if (text === undefined) {
      text = [...this.#always, ...(operation.exposes ?? [])].join(', ');
      this.#exposed.set(operation, text);
    }
    return text;
  }

  /** Returns the response to `OPTIONS`, which needs no authentication. */
  preflight(endpoint: Endpoint, request: Caller): ServiceResponse {
    const { headers } = request;
    const method = headers['access-control-request-method'];
    const issues: Issue[] = [];
    if (headers['origin'] === undefined) issues.push(missing('Origin'));
    const refused = this.checkOrigin(request);
    if (refused !== undefined) issues.push(refused);
    if (method === undefined) issues.push(missing('Access-Control-Request-Method'));
    else if (!allowedMethods(endpoint).includes(method)) {
      issues.push({
        location: 'header',
        name: 'Access-Control-Request-Method',
        description: `the endpoint does not support ${printable(method)}`,
      });
    }
    if (issues.length > 0) throw invalidParameters(issues);
    const operation = Object.entries(endpoint.operations).find(([name]) => name === method)?.[1];
    const asked = headers['access-control-request-headers'] ?? '';
    const allowed = [this.exposedHeaders(operation), ...asked.split(',').map((name) => name.trim())].filter(
      isHeaderName,
    );
    const response: Record<string, string> = {
      'Access-Control-Allow-Methods': allowedMethods(endpoint).join(','),
      'Access-Control-Allow-Headers': allowed.join(', '),
    };
    if (this.#maxAgeSeconds !== undefined) response['Access-Control-Max-Age'] = String(this.#maxAgeSeconds);
    return { status: 200, headers: response, body: 'null' };
  }
}

/** Returns the methods of an endpoint for `Allow`, including `OPTIONS`. */
export function allowedMethods(endpoint: Endpoint): string[] {
  return [...Object.keys(endpoint.operations), 'OPTIONS'];
}

function missing(name: string): Issue {
  return { location: 'header', name, description: 'required for a preflight request' };
}

/** Whether the text is a header name, or a list of them. */
function isHeaderName(text: string): boolean {
  return /^[\w!#$%&'*+.^`|~, -]+$/.test(text);
}

function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 40);
}

/** Compiles a pattern: `*` matches any text, `?` any character, and `:*` at the end any port or none. */
function originPattern(glob: string): RegExp {
  const hasAnyPort = glob.endsWith(':*');
  const source = (hasAnyPort ? glob.slice(0, -2) : glob).replaceAll(/[\\^$.|+(){}[\]*?]/g, (mark) =>
    mark === '*' ? '.*' : mark === '?' ? '.' : `\\${mark}`,
  );
  return new RegExp(`^${source}${hasAnyPort ? String.raw`(?::\d{1,5})?` : ''}$`, 's');
}
