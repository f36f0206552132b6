// Workers that die or do not respond: they are replaced, and no client waits for them.
import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, onTestFinished, test } from 'vitest';
import { backends, listening, open, pidsOf, startWorkers } from './start-workers.ts';

/** Stops a process; returns when it no longer runs. */
function suspend(pid: number): void {
  process.kill(pid, 'SIGSTOP');
  onTestFinished(() => {
    // If the test fails, the process is still suspended, and does not notice the end of the service.
    spawnSync('kill', ['-CONT', String(pid)]);
  });
  const state = (): string => execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' });
  while (!/^[TZ]/.test(state()));
}

const ok = 'HTTP/1.1 200 OK';
/** First line of the response on a connection that the service closes without a response. */
const nothing = '';

/** Sends a request on a new connection; resolves to the first line of the response when the connection is closed. */
async function get(port: number, host?: string): Promise<string> {
  const socket = await open(port, host);
  let response = '';
  socket.on('data', (chunk: Buffer) => (response += chunk.toString()));
  socket.write('GET /v1/__lbheartbeat__ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  // A reset counts as closed.
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  return response.split('\r\n', 1)[0]!;
}

/** Sends requests at once; resolves to the last one when all others are completed. */
async function getAllButOne(port: number, host?: string): Promise<{ readonly last: Promise<string> }> {
  const pending = new Set(Array.from({ length: 6 }, () => get(port, host)));
  while (pending.size > 1) await Promise.race([...pending].map((each) => each.then(() => pending.delete(each))));
  const [last] = pending;
  return { last: last! };
}

describe('coffer start --workers, when a worker', () => {
  test.each(backends)('on %s is killed, replaces it while others serve.', async (backend) => {
    const service = await startWorkers(2, {}, backend);
    const [victim] = listening(service);
    process.kill(victim!.Pid, 'SIGKILL');
    expect((await service.logged('A worker died')).Fields).toMatchObject({ pid: victim!.Pid, signal: 'SIGKILL' });
    expect((await fetch(service.url)).status).toBe(200);
    await service.loggedCount('Listening', 3);
    expect(pidsOf(listening(service)).size).toBe(3);
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  test('dies with connections in transit to it, closes them, and passes no more connections to it.', async () => {
    const service = await startWorkers(2, { host: 'localhost' });
    const hosts = ['127.0.0.1', '::1'];
    const [victim] = listening(service);
    suspend(victim!.Pid);
    // The first process passes one connection of each address to the suspended worker, and waits for its acknowledgement.
    const inTransit = await Promise.all(hosts.map((host) => getAllButOne(service.port, host)));
    process.kill(victim!.Pid, 'SIGKILL');
    // A client only learns of the end when no process holds a descriptor of its connection.
    expect(await Promise.all(inTransit.map(({ last }) => last))).toEqual([nothing, nothing]);
    for (const host of hosts) {
      for (let n = 0; n < 4; n++) expect(await get(service.port, host)).toBe(ok);
    }
    await service.loggedCount('Listening', 3);
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  test('does not respond, kills and replaces it, and closes its connections.', async () => {
    const service = await startWorkers(2, { worker_response_timeout_seconds: '5s' });
    const [victim] = listening(service);
    suspend(victim!.Pid);
    const { last } = await getAllButOne(service.port);
    expect((await service.logged('A worker does not respond and is killed')).Fields).toMatchObject({
      pid: victim!.Pid,
    });
    expect((await service.logged('A worker died')).Fields).toMatchObject({ pid: victim!.Pid, signal: 'SIGKILL' });
    expect(await last).toBe(nothing);
    await service.loggedCount('Listening', 3);
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });
});
