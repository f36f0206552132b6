// A small HTTP client for tests against a running server: one user, JSON in and out, connections kept alive.

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON; `undefined` for an empty body. */
  readonly body: any;
}

export class Client {
  readonly #url: string;
  readonly #authorization: string;

  /** @param url root of the protocol without trailing slash */
  constructor(url: string, user: string) {
    this.#url = url;
    this.#authorization = `Basic ${Buffer.from(`${user}:secret`).toString('base64')}`;
  }

  async request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const address = path.startsWith('http') ? path : this.#url + path;
    const response = await fetch(address, {
      method,
      headers: {
        authorization: this.#authorization,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  }

  /** Returns the body of a response that is not JSON. */
  async text(path: string): Promise<string> {
    const response = await fetch(this.#url + path, { headers: { authorization: this.#authorization } });
    return response.text();
  }

  /** All objects of a list, page by page. */
  async readAll(path: string): Promise<any[]> {
    const objects: any[] = [];
    for (let next: string | null = path; next !== null;) {
      const { status, headers, body } = await this.request('GET', next);
      if (status !== 200) throw new Error(`${next} answered ${status} ${JSON.stringify(body)}`);
      objects.push(...body.data);
      next = headers.get('next-page');
    }
    return objects;
  }
}
