// A whole service whose backend fails under load, in every way that we could think of: all answers are refusals in bounded
// time, health checks and log say what is wrong, the service heals by itself, and nothing acknowledged is lost.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Client, type Answer } from '../support/client.ts';
import { ServerProcess } from '../support/server-process.ts';
import { answerLimitMs, type Fault, type Kind, type Place } from './fault.ts';
import { startPostgresql } from './on-postgresql.ts';
import { startRedis } from './on-redis.ts';
import { prepare, Traffic } from './traffic.ts';

/** How long the service may take to notice and to heal before the test gives up: it takes a second or two. */
const patienceMs = 20_000;
/** Writes before the fault, and after it. */
const acknowledgedEnough = 25;
const kinds: readonly Kind[] = ['storage', 'permission', 'cache'];

describe.each([
  { backend: 'PostgreSQL', open: startPostgresql },
  { backend: 'Redis', open: startRedis },
])('a service whose $backend server', ({ open }) => {
  let place: Place;
  let service: ServerProcess;
  let faults: readonly Fault[] = [];
  const figures: object[] = [];

  beforeAll(async () => {
    place = await open();
    faults = place.faults;
    service = await ServerProcess.start(place.workspace, place.environment);
    await prepare(service.url);
  });
  afterAll(async () => {
    expect(await service.stop()).toBe(0);
    await place.remove();
    console.table(figures);
  });

  test('fails in any way goes on when it is over, with everything that was acknowledged.', async () => {
    for (const fault of faults) figures.push(await suffer(service, fault));
  }, 120_000);
});

async function suffer(service: ServerProcess, fault: Fault): Promise<object> {
  const { ill = kinds, isReadable = false } = fault;
  const logged = service.log.length;
  const started = performance.now();
  const name = fault.name.replaceAll(/\W+/g, '-');
  const traffic = new Traffic({ url: service.url, name, writers: 6, readers: 3, limitMs: answerLimitMs });
  await traffic.until(({ acknowledged }) => acknowledged >= acknowledgedEnough);
  await fault.strike();
  if (ill.length > 0) {
    await traffic.until(({ refused }) => refused.writes >= 3 && (isReadable || refused.reads >= 2));
    await expectHeartbeat(service.url, 503, ill);
    await expectReasons(service, logged, fault, ill);
  }
  const before = traffic.acknowledged;
  await fault.mend();
  const mended = performance.now();
  await Promise.all([
    traffic.until(({ acknowledged }) => acknowledged >= before + acknowledgedEnough),
    expectHeartbeat(service.url, 200, []),
  ]);
  const recoveryMs = Math.round(performance.now() - mended);
  await traffic.stop();
  expect(traffic.offences, fault.name).toEqual([]);
  await traffic.compare();
  const { acknowledged, refused, longestMs } = traffic;
  return {
    fault: fault.name,
    acknowledged,
    ...refused,
    longestMs: Math.round(longestMs),
    recoveryMs,
    totalMs: Math.round(performance.now() - started),
  };
}

/** Asks until the status is as expected. */
async function expectHeartbeat(url: string, status: 200 | 503, ill: readonly Kind[]): Promise<void> {
  const client = new Client(url, 'writer');
  const deadline = performance.now() + patienceMs;
  let answer: Answer;
  do {
    answer = await client.request('GET', '/__heartbeat__');
  } while (!isExpected(answer, status, ill) && performance.now() < deadline);
  const healthy = Object.fromEntries(kinds.map((kind) => [kind, !ill.includes(kind)]));
  expect([answer.status, answer.body]).toEqual([status, healthy]);
  if (status === 503) expect(answer.headers.get('retry-after')).toBe('1');
}

function isExpected({ status, body }: Answer, wanted: number, ill: readonly Kind[]): boolean {
  return status === wanted && kinds.every((kind) => body[kind] !== ill.includes(kind));
}

/**
 * Expects the log and the responses to name the failed check and its reason. Requests in progress when the fault began may
 * only have timed out, so requests are repeated until a response has the reason.
 */
async function expectReasons(
  { log, url }: ServerProcess,
  from: number,
  { name, reason }: Fault,
  ill: readonly Kind[],
): Promise<void> {
  const client = new Client(url, 'writer');
  const deadline = performance.now() + patienceMs;
  while (!reasonsOf(log.slice(from), ill).every(([, text]) => reason.test(text)) && performance.now() < deadline) {
    await client.request('GET', '/__heartbeat__');
  }
  for (const [what, text] of reasonsOf(log.slice(from), ill)) expect.soft(text, `${name}, ${what}`).toMatch(reason);
}

/** What was logged of each ill backend's checks, and of requests that failed. */
function reasonsOf(
  log: ServerProcess['log'],
  ill: readonly Kind[],
): readonly (readonly [what: string, text: string])[] {
  const lines = log.filter(({ Severity }) => Severity <= 3);
  const isCheck = ({ Type }: (typeof lines)[number]): boolean => Type === 'Heartbeat check failed';
  const textOf = (chosen: typeof lines): string =>
    chosen
      .map(({ Fields }) => String((Fields?.['err'] as { readonly message?: string } | undefined)?.message))
      .join('\n');
  return [
    ...ill.map(
      (kind) => [kind, textOf(lines.filter((line) => isCheck(line) && line.Fields?.['backend'] === kind))] as const,
    ),
    ['requests', textOf(lines.filter((line) => !isCheck(line)))] as const,
  ];
}
