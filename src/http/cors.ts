// Cross-origin resource sharing: who may call from a browser, what scripts may read, and preflight answers.
import { invalidParameters, type Issue } from '../core/errors.ts';
import type { Endpoint, Operation } from '../engine/endpoint.ts';
import type { ResponseHeaders, ServiceRequest, ServiceResponse } from '../engine/exchange.ts';

export interface CorsOptions {
  /** Shell-style patterns of allowed origins. */
  readonly origins: readonly string[];
  /**
   * Whether the origin by which a request reaches the service is known to be one of its own, so that scripts there are
   * always allowed. Otherwise a foreign name that leads here would make its pages the service's own.
   */
  readonly trustsOwnOrigin: boolean;
  /** How long preflights may be kept; `undefined`: the header is left out. */
  readonly maxAgeSeconds: number | undefined;
  /** Headers, beside the usual ones, that every answer may carry for scripts to read. */
  readonly exposes?: readonly string[];
}

/** What decides on a request: the page that sent it, and the origin by which it reached the service. */
type Caller = Pick<ServiceRequest, 'headers' | 'origin'>;

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

  /** Value of `Access-Control-Allow-Origin` for a request, `undefined` without an origin or with a refused one. */
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
    if (origin === undefined) return headers['sec-fetch-site'] !== 'cross-site';
    return (this.#trustsOwnOrigin && origin === ownOrigin) || this.#names.has(origin);
  }

  /** Adds what browsers ask for, and tells caches when it depends on who asks: also where nobody was allowed. */
  addTo(headers: ResponseHeaders, sent: Caller): void {
    const allowed = this.allowedOrigin(sent);
    if (allowed !== undefined) headers['Access-Control-Allow-Origin'] = allowed;
    if (this.#any) return;
    const others = headers['Vary'];
    headers['Vary'] = others === undefined ? 'Origin' : `${String(others)}, Origin`;
  }

  /** What is wrong with the origin of a request, if anything. */
  checkOrigin(request: Caller): Issue | undefined {
    if (request.headers['origin'] === undefined || this.allowedOrigin(request) !== undefined) return undefined;
    return { location: 'header', name: 'Origin', description: 'this origin is not allowed' };
  }

  /** Value of `Access-Control-Expose-Headers`. */
  exposedHeaders(operation: Operation | undefined): string {
    if (operation === undefined) return this.#always.join(', ');
    let text = this.#exposed.get(operation);
    if (text === undefined) {
      text = [...this.#always, ...(operation.exposes ?? [])].join(', ');
      this.#exposed.set(operation, text);
    }
    return text;
  }

  /** The answer to `OPTIONS`, which needs no authentication. */
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
        description: `${printable(method)} is not served here`,
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

/** Methods of an endpoint for `Allow`: those it serves and `OPTIONS`. */
export function allowedMethods(endpoint: Endpoint): string[] {
  return [...Object.keys(endpoint.operations), 'OPTIONS'];
}

function missing(name: string): Issue {
  return { location: 'header', name, description: 'required for a preflight request' };
}

/** The joined list of exposed headers passes too: it holds header names, commas and spaces only. */
function isHeaderName(text: string): boolean {
  return /^[\w!#$%&'*+.^`|~, -]+$/.test(text);
}

function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 40);
}

/** `*` stands for any text, `?` for any character, and `:*` at the end for any port, the usual one included. */
function originPattern(glob: string): RegExp {
  const hasAnyPort = glob.endsWith(':*');
  const source = (hasAnyPort ? glob.slice(0, -2) : glob).replaceAll(/[\\^$.|+(){}[\]*?]/g, (mark) =>
    mark === '*' ? '.*' : mark === '?' ? '.' : `\\${mark}`,
  );
  return new RegExp(`^${source}${hasAnyPort ? String.raw`(?::\d{1,5})?` : ''}$`, 's');
}
