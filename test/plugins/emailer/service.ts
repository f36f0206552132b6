// A service with the plugin, a mail server, and a collection for hooks.
import { onTestFinished } from 'vitest';
import type { Logger } from '../../../src/contracts/logger.ts';
import { startTestService, type TestClient, type TestResponse, type TestService } from '../../../src/testing/index.ts';
import { startMailSink, type MailSink } from '../../support/mail-sink.ts';

export const collection = '/v1/buckets/food/collections/fruits';

export const team = 'team@example.org';

export interface Started {
  readonly service: TestService;
  /** Client of the bucket owner. */
  readonly owner: TestClient;
  readonly sink: MailSink;
}

export interface StartOptions {
  readonly settings?: Readonly<Record<string, string>>;
  readonly logger?: Logger;
}

export function mailSettings({ port }: { readonly port: number }): Readonly<Record<string, string>> {
  return { includes: 'emailer', 'mail.host': '127.0.0.1', 'mail.port': String(port) };
}

/** Starts service and mail server. Both stop at the end of the test. */
export async function start({ settings = {}, logger }: StartOptions = {}): Promise<Started> {
  const sink = await startMailSink();
  const service = await startTestService({
    settings: { ...mailSettings(sink), ...settings },
    ...(logger === undefined ? {} : { logger }),
  });
  onTestFinished(() => service.close());
  const owner = service.asUser('owner');
  await owner.request('PUT', '/v1/buckets/food');
  return { service, owner, sink };
}

/** Saves hooks on the collection. This sends a mail only if a hook matches collections. */
export function saveHooks(owner: TestClient, hooks: unknown, path = collection): Promise<TestResponse> {
  return owner.request('PUT', path, { body: { data: { 'kinto-emailer': { hooks } } } });
}

export function putRecord(client: TestClient, id: string, data: object = {}): Promise<TestResponse> {
  return client.request('PUT', `${collection}/records/${id}`, { body: { data } });
}
