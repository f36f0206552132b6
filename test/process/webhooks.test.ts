// Webhooks when the server is killed: what was committed is delivered by the next one, what was not never is.
import { afterEach, describe, expect, it } from 'vitest';
import { authorizationOf } from '../../src/testing/index.ts';
import { run } from '../cli/process.ts';
import { freePort } from '../support/redis.ts';
import { ServerProcess, Workspace } from '../support/server-process.ts';
import { Receiver } from '../support/webhook-receiver.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

function hookTo(port: number): Record<string, string> {
  return {
    SVC_EVENT_LISTENERS: 'hook',
    SVC_EVENT_LISTENERS_HOOK_USE: 'webhook',
    SVC_EVENT_LISTENERS_HOOK_URL: `http://127.0.0.1:${port}/hook`,
    SVC_EVENT_LISTENERS_HOOK_SECRET: 'a-secret-of-sixteen-bytes-or-more',
    SVC_EVENT_LISTENERS_HOOK_TIMEOUT: '600ms',
    SVC_EVENT_LISTENERS_HOOK_LEASE: '1s',
    SVC_EVENT_LISTENERS_HOOK_RETRY_MIN: '50ms',
    SVC_EVENT_LISTENERS_HOOK_RETRY_MAX: '200ms',
    SVC_EVENT_LISTENERS_HOOK_MAX_ATTEMPTS: '1000',
  };
}

async function startServer(workspace: Workspace, port: number): Promise<ServerProcess> {
  const server = await ServerProcess.start(workspace, { ...workspace.environment('sqlite'), ...hookTo(port) });
  cleanUps.push(() => server.kill());
  return server;
}

async function put(server: ServerProcess, path: string): Promise<number> {
  const headers = { Authorization: authorizationOf('alice') };
  return (await fetch(`${server.url}${path}`, { method: 'PUT', headers })).status;
}

async function prepare(): Promise<Workspace> {
  const workspace = await Workspace.create();
  cleanUps.push(() => workspace.remove());
  return workspace;
}

async function listen(port: number): Promise<Receiver> {
  const receiver = await Receiver.start(port);
  cleanUps.push(() => receiver.close());
  return receiver;
}

describe('webhooks of a server that is killed', () => {
  it('are delivered by the next one, once each and in order, when the receiver was away.', async () => {
    const workspace = await prepare();
    const port = await freePort();
    const server = await startServer(workspace, port);
    for (const id of ['a', 'b', 'c']) expect(await put(server, `/buckets/${id}`)).toBe(201);
    await server.kill();
    const receiver = await listen(port);
    const next = await startServer(workspace, port);
    const deliveries = await receiver.received(3);
    expect(deliveries.map(({ json }) => json.payload['bucket_id'])).toEqual(['a', 'b', 'c']);
    expect(await next.stop()).toBe(0);
    expect(receiver.deliveries).toHaveLength(3);
  });

  it('are delivered again with the same id when their result is unknown.', async () => {
    const workspace = await prepare();
    const receiver = await listen(0);
    receiver.answer = () => 'hang';
    const server = await startServer(workspace, receiver.port);
    expect(await put(server, '/buckets/a')).toBe(201);
    const [first] = await receiver.received(1);
    await server.kill();
    receiver.answer = () => 204;
    await startServer(workspace, receiver.port);
    const [, second] = await receiver.received(2);
    expect(second).toMatchObject({ id: first!.id, body: first!.body });
  });
});

describe('coffer webhooks', () => {
  it('lists failed deliveries, and retries or deletes them.', async () => {
    const workspace = await prepare();
    const receiver = await listen(0);
    const environment = {
      ...workspace.environment('sqlite'),
      ...hookTo(receiver.port),
      SVC_EVENT_LISTENERS_HOOK_MAX_ATTEMPTS: '1',
    };
    const command = (...args: readonly string[]): ReturnType<typeof run> =>
      run(['webhooks', '--config', workspace.config, ...args], { cwd: workspace.folder, environment });
    receiver.answer = () => 410;
    const server = await ServerProcess.start(workspace, environment);
    cleanUps.push(() => server.kill());
    await put(server, '/buckets/a');
    await put(server, '/buckets/b');
    await receiver.received(2);
    expect(await server.stop()).toBe(0);
    expect(await command()).toEqual({
      code: 0,
      out: 'hook: 0 waiting, 2 failed (last: the receiver answered 410)\n',
      err: '',
    });
    expect(await command('--retry', 'hook')).toMatchObject({ code: 0, out: '2 deliveries of hook will be retried.\n' });
    expect((await command()).out).toBe('hook: 2 waiting, 0 failed\n');
    const next = await ServerProcess.start(workspace, environment);
    cleanUps.push(() => next.kill());
    const ids = (await receiver.received(4)).map(({ id }) => id);
    expect(ids.slice(2)).toEqual(ids.slice(0, 2));
    expect(await next.stop()).toBe(0);
    expect(await command('--forget', 'hook')).toMatchObject({ code: 0, out: '2 deliveries of hook were deleted.\n' });
    expect((await command()).out).toBe('hook: no waiting or failed deliveries\n');
    expect(await command('--forget', 'hook', '--retry', 'hook')).toMatchObject({ code: 2 });
  });
});
