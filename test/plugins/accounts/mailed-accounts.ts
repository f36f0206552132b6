// Services whose accounts have e-mail addresses, with a mail server, for tests.
import { definePlugin } from '../../../src/http/plugin.ts';
import type { TestResponse, TestService } from '../../../src/testing/index.ts';
import { startMailSink, type MailSink } from '../../support/mail-sink.ts';
import { accountSettings, basic, signUp, startAccounts } from './service.ts';

export const zoe = 'zoe@example.org';

export function mailSettings({ port }: MailSink): Readonly<Record<string, string>> {
  return {
    ...accountSettings,
    account_validation: 'true',
    account_write_principals: 'account:root@example.org',
    'account_validation.email_sender': 'shop@example.org',
    'mail.host': '127.0.0.1',
    'mail.port': String(port),
  };
}

export function activate(service: TestService, id: string, key: string): Promise<TestResponse> {
  return service.request('POST', `/v1/accounts/${id}/validate/${key}`);
}

export function requestReset(service: TestService, id: string, data?: object): Promise<TestResponse> {
  return service.request('POST', `/v1/accounts/${id}/reset-password`, data === undefined ? {} : { body: { data } });
}

export function change(
  service: TestService,
  id: string,
  login: string,
  body: unknown,
  method = 'PUT',
): Promise<TestResponse> {
  return service.request(method, `/v1/accounts/${id}`, { headers: { Authorization: basic(id, login) }, body });
}

export interface Started {
  readonly service: TestService;
  readonly sink: MailSink;
}

export async function start(settings: Readonly<Record<string, string>> = {}, more: object = {}): Promise<Started> {
  const sink = await startMailSink();
  return { sink, service: await startAccounts({ settings: { ...mailSettings(sink), ...settings }, ...more }) };
}

/** Starts a service with an active account and waits for its mails. */
export async function startWithAccount(
  settings: Readonly<Record<string, string>> = {},
  more: object = {},
): Promise<Started> {
  const started = await start(settings, more);
  await signUp(started.service, zoe, 'right');
  const [letter] = await started.sink.received(1);
  await activate(started.service, zoe, letter!.text);
  await started.sink.received(2);
  return started;
}

/** A plugin that runs a task as soon as a request holds a one-time code. */
export function pauseAfterHold(): {
  readonly plugin: ReturnType<typeof definePlugin>;
  readonly pauseWith: (task: () => Promise<void>) => void;
} {
  let waiting: (() => Promise<void>) | undefined;
  const plugin = definePlugin({
    name: 'pause',
    setup({ securityState }) {
      const replace = securityState.replace.bind(securityState);
      securityState.replace = async (...given) => {
        const isReplaced = await replace(...given);
        const task = waiting;
        waiting = undefined;
        await task?.();
        return isReplaced;
      };
      return {};
    },
  });
  return { plugin, pauseWith: (task) => (waiting = task) };
}
