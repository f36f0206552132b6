// Recent log lines: order, pages, levels, limits, and nothing secret in them.
import { expect, test } from 'vitest';
import { createLogger } from '../../../src/observability/logger.ts';
import { LogRing, maxLineChars } from '../../../src/observability/log-ring.ts';
import { memory, operate, type Operated } from './operators.ts';

interface Line {
  readonly id: string;
  readonly time: number;
  readonly level: string;
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

const linesOf = async (service: Operated, query = ''): Promise<readonly Line[]> =>
  (await service.read(`log${query}`)).data;

async function operateWithLog(format: 'json' | 'pretty'): Promise<Operated & { readonly log: readonly string[] }> {
  const log: string[] = [];
  const logger = createLogger({ level: 'debug', format, name: 'svc' }, { write: (line) => log.push(line) });
  return { ...(await operate(memory, { logger, settings: { log_level: 'debug' } })), log };
}

test.each(['json', 'pretty'] as const)(
  'Lines of a log in the format %s are returned, newest first.',
  async (format) => {
    const service = await operateWithLog(format);
    const before = Date.now();
    await service.asUser('ann').request('GET', '/v1/buckets/none');
    await service.request('GET', '/v1/');
    const [second, first] = await linesOf(service, `?_since=${before - 1}&level=info&_limit=2`);
    expect(first).toMatchObject({ level: 'info', message: 'request.summary', fields: { path: '/v1/buckets/none' } });
    expect(second).toMatchObject({ level: 'info', fields: { path: '/v1/', code: 200 } });
    expect(second!.time).toBeGreaterThanOrEqual(before);
    expect(await linesOf(service, `?_since=${Date.now() + 60_000}`)).toEqual([]);
    for (const { level } of await linesOf(service, '?level=warn')) expect(['warn', 'error']).toContain(level);
    await service.close();
  },
);

test('Pages contain each line once, and lines written meanwhile do not move them.', async () => {
  const service = await operateWithLog('json');
  for (let n = 0; n < 30; n++) await service.request('GET', `/v1/missing-${n}`);
  const seen: string[] = [];
  let path = '/v1/operations/log?_limit=7&level=info';
  while (path !== '') {
    const { body, headers } = await service.reader.request('GET', path);
    for (const { fields } of (body as { readonly data: readonly Line[] }).data) seen.push(String(fields['path']));
    const next = headers['next-page'] ?? '';
    path = next === '' ? '' : next.slice(service.origin.length);
  }
  const missing = seen.filter((each) => each.startsWith('/v1/missing-'));
  expect(missing).toEqual(Array.from({ length: 30 }, (_, n) => `/v1/missing-${29 - n}`));
  await service.close();
});

test('Neither the lines nor any other answer contain passwords, tokens or credentials in URLs.', async () => {
  const service = await operateWithLog('json');
  const secret = 'hunter2-s3cret';
  const basic = Buffer.from(`ann:${secret}`).toString('base64');
  const send = (path: string, headers: Record<string, string> = {}): Promise<unknown> =>
    service.request('GET', path, { headers });
  await send('/v1/buckets', { authorization: `Basic ${basic}` });
  await send('/v1/buckets', { authorization: `Bearer ${secret}`, cookie: `session=${secret}` });
  await send(`/v1/buckets?access_token=${secret}&password=${secret}&token=${secret}`);
  await send(`http://ann:${secret}@localhost/v1/buckets`);
  await send(`/v1/openid/google/token?code=${secret}&state=${secret}`);
  await service.request('POST', '/v1/batch', {
    body: { requests: [{ path: '/v1/buckets', headers: { Authorization: `Basic ${basic}` } }] },
  });
  await service.request('POST', '/v1/buckets', {
    raw: `{"data": {"password": "${secret}"`,
    headers: { authorization: secret },
  });
  const lines = await linesOf(service, '?_limit=1000');
  expect(lines.length).toBeGreaterThan(7);
  const answers = [lines, ...(await Promise.all(['overview', 'slow', 'settings'].map((path) => service.read(path))))];
  for (const answer of answers) {
    expect(JSON.stringify(answer)).not.toContain(secret);
    expect(JSON.stringify(answer)).not.toContain(basic);
  }
  await service.close();
});

test('A ring keeps the newest lines within its size, and replaces lines that are too long.', () => {
  const ring = new LogRing(100_000, () => 5);
  const everything = { level: 'debug', since: 0, before: undefined, limit: 100_000 } as const;
  for (let n = 0; n < 20_000; n++) ring.add(`{"level":30,"time":${n},"pid":1,"msg":"line ${n} é"}\n`);
  const { bytes, oldest, limitBytes } = ring.retention;
  expect(bytes).toBeLessThanOrEqual(limitBytes);
  expect(bytes).toBeGreaterThan(limitBytes * 0.8);
  const lines = ring.read(everything);
  expect(lines[0]).toMatchObject({ number: 19_999, time: 19_999, message: 'line 19999 é', level: 'info' });
  expect(lines.at(-1)!.time).toBe(oldest);
  expect(lines.map(({ number }) => number)).toEqual(lines.map((_, place) => 19_999 - place));
  for (let n = 0; n < 50; n++) ring.add(`{"level":30,"time":6,"msg":"${'x'.repeat(maxLineChars)}"}\n`);
  expect(ring.read({ ...everything, limit: 1 })).toMatchObject([
    { level: 'warn', time: 5, message: expect.stringContaining('was not kept') },
  ]);
  expect(ring.retention.bytes).toBeLessThanOrEqual(limitBytes);
  expect(ring.read({ ...everything, limit: 50 }).every(({ fields }) => Object.keys(fields).length === 0)).toBe(true);
});

test('Lines that are no JSON are left out.', () => {
  const ring = new LogRing(100_000, () => 5);
  ring.add('nonsense\n');
  ring.add('{"level":50,"time":1,"msg":"__proto__","__proto__":{"a":1}}\n');
  expect(ring.read({ level: 'error', since: 0, before: undefined, limit: 9 })).toMatchObject([
    { message: '__proto__' },
  ]);
});

test('The first lines before the plugin was set up are kept too.', async () => {
  const service = await operateWithLog('json');
  const text = service.log.join('');
  const lines = await linesOf(service, '?level=warn&_limit=1000');
  // The start warns that data is in memory, before plugins exist.
  expect(text).toContain('all data in memory is lost');
  expect(lines.some(({ message }) => message.includes('all data in memory is lost'))).toBe(true);
  await service.close();
});
