// The receiver in the guide to webhooks, taken from the page and run: it accepts only deliveries that the service signed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { startTestService } from '../../src/testing/index.ts';
import { freePort } from '../support/redis.ts';

const page = readFileSync(new URL('../../docs/guides/webhooks.md', import.meta.url), 'utf8');
const program = /```js\n(\/\/ receiver\.mjs\n[^]*?)```/.exec(page)?.[1] ?? '';
const secret = /event_listeners\.partner\.secret = (\S+)/.exec(page)?.[1] ?? '';

it('The receiver of the guide prints what was delivered, and refuses what was not signed.', async () => {
  const port = await freePort();
  const receiver = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env: { PATH: process.env['PATH'], PORT: String(port), SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: receiver.stdout })[Symbol.asyncIterator]();
  const parameters = {
    use: 'webhook',
    url: `http://127.0.0.1:${port}/`,
    secret,
    retry_min: '50ms',
    retry_max: '100ms',
  };
  const entries = Object.entries(parameters).map(([key, value]) => [`event_listeners.partner.${key}`, value] as const);
  const service = await startTestService({ settings: { event_listeners: 'partner', ...Object.fromEntries(entries) } });
  try {
    await service.asUser('alice').request('PUT', '/v1/buckets/food');
    expect(await lines.next()).toMatchObject({ value: 'create bucket food' });
    const forged = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: { 'webhook-id': 'x', 'webhook-timestamp': String(Date.now() / 1000), 'webhook-signature': 'v1,AAAA' },
      body: '{}',
    });
    expect(forged.status).toBe(401);
  } finally {
    await service.close();
    receiver.kill();
    await once(receiver, 'exit');
  }
});
