// A service with the plugin, for its tests: a reader, a writer, and requests to the endpoints below /operations.
import type { JsonObject } from '../../../src/base/json.ts';
import { startTestService, type TestBackend, type TestClient, type TestService } from '../../../src/testing/index.ts';
import type { TestServiceOptions } from '../../../src/testing/index.ts';

export const memory: Pick<TestBackend, 'start'> = { start: startTestService };

export interface Operated extends TestService {
  /** Returns the body of a response with status 200. */
  readonly read: (path: string) => Promise<Body>;
  readonly reader: TestClient;
  readonly writer: TestClient;
}

export interface Body extends JsonObject {
  readonly data: never;
}

/** Returns the user id of a name, which depends on its credentials. */
export async function idOf(service: TestService, name: string): Promise<string> {
  const { body } = await service.asUser(name).request('GET', '/v1/');
  return (body as { readonly user: { readonly id: string } }).user.id;
}

/** Starts a service in which `reader` may read and `writer` may write. */
export async function operate(
  backend: Pick<TestBackend, 'start'>,
  { settings = {}, ...options }: TestServiceOptions = {},
): Promise<Operated> {
  // User ids depend on the secret alone, so another service knows them.
  const other = await startTestService();
  const [reader, writer] = [await idOf(other, 'reader'), await idOf(other, 'writer')];
  await other.close();
  const service = await backend.start({
    ...options,
    settings: {
      includes: 'operations',
      operations_read_principals: reader,
      operations_write_principals: writer,
      ...settings,
    },
  });
  const client = service.asUser('reader');
  return {
    ...service,
    reader: client,
    writer: service.asUser('writer'),
    async read(path) {
      const { status, text, body } = await client.request('GET', `/v1/operations/${path}`);
      if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
      return body as Body;
    },
  };
}
