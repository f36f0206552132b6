// Services with accounts, and helpers for tests of logins and mails.
import { onTestFinished } from 'vitest';
import { formatAttributes } from '../../../src/core/objects/stored.ts';
import { storedUri } from '../../../src/core/objects/uris.ts';
import { toPrincipal } from '../../../src/core/permissions/principals.ts';
import type { Stores } from '../../../src/engine/unit-of-work.ts';
import { definePlugin } from '../../../src/http/plugin.ts';
import {
  startTestService,
  type TestResponse,
  type TestService,
  type TestServiceOptions,
} from '../../../src/testing/index.ts';

export const accountSettings: Readonly<Record<string, string>> = {
  includes: 'accounts',
  'multiauth.policies': 'account',
  account_create_principals: 'system.Everyone',
  account_hash_cost: '10',
  trusted_proxies: '127.0.0.1',
};

/** Starts a service on memory backends that stops with the test. */
export async function startAccounts(options: TestServiceOptions = {}): Promise<TestService> {
  const service = await startTestService({ ...options, settings: { ...accountSettings, ...options.settings } });
  onTestFinished(() => service.close());
  return service;
}

export function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/** Creates an account without credentials. */
export function signUp(service: TestService, id: string, password: string, more: object = {}): Promise<TestResponse> {
  return service.request('PUT', `/v1/accounts/${id}`, { body: { data: { password, ...more } } });
}

/** Returns the status of a request with a login from an address. */
export async function logIn(
  service: TestService,
  id: string,
  password: string,
  address = '192.0.2.1',
): Promise<number> {
  return (await tryLogin(service, id, password, address)).status;
}

export function tryLogin(service: TestService, id: string, password: string, address: string): Promise<TestResponse> {
  return service.request('GET', '/v1/accounts', {
    headers: { Authorization: basic(id, password), 'X-Forwarded-For': address },
  });
}

/** Plugin that gives tests access to the stores of a service. */
export function openDoor(): { readonly plugin: ReturnType<typeof definePlugin>; readonly stores: () => Stores } {
  let stores: Stores | undefined;
  const plugin = definePlugin({
    name: 'door',
    setup(host) {
      ({ stores } = host);
      return {};
    },
  });
  return {
    plugin,
    stores() {
      if (stores === undefined) throw new Error('the service was not started');
      return stores;
    },
  };
}

/** Stores an account as another deployment may have written it. */
export async function importAccount({ storage, permission }: Stores, id: string, attributes: object): Promise<void> {
  const transaction = await storage.database.begin();
  const text = formatAttributes(JSON.parse(JSON.stringify(attributes)) as Record<string, string>);
  await storage.writer(transaction).update({ kind: 'account', parent: '' }, id, text);
  await permission
    .writer(transaction)
    .replaceObjectPermissions(storedUri(`/accounts/${id}`), { write: [toPrincipal(`account:${id}`)] });
  await transaction.commit();
}
