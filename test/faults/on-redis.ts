// What may happen to a Redis server.
import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openInspector, RedisProcess } from '../support/redis.ts';
import { Workspace } from '../support/server-process.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { environmentFor, networkFaults, type Fault, type Place } from './fault.ts';

const endConnections = ['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'];

/** A server that has every change on disk before it answers. */
export async function startRedis(): Promise<Place & { readonly server: RedisProcess }> {
  const server = await RedisProcess.start(['--appendonly', 'yes', '--appendfsync', 'always']);
  const network = await TcpProxy.to(server.port);
  const workspace = await Workspace.create();
  return {
    server,
    network,
    workspace,
    environment: environmentFor(workspace, 'redis', `redis://127.0.0.1:${network.port}/0`),
    faults: [...networkFaults(network), ...processFaults(server), ...stateFaults(server)],
    async remove() {
      await network.close();
      await server.remove();
      await workspace.remove();
    },
  };
}

function processFaults(server: RedisProcess): readonly Fault[] {
  const reason = /cannot be reached \(ECONN/;
  return [
    { name: 'restarts', strike: () => server.stop(), mend: () => server.start(), reason },
    { name: 'dies', strike: () => server.kill(), mend: () => server.start(), reason },
    { name: 'freezes', strike: () => server.pause(), mend: () => server.resume(), reason: /in time|no answer within/ },
  ];
}

function stateFaults(server: RedisProcess): readonly Fault[] {
  const tell =
    (...commands: readonly (readonly string[])[]) =>
    () =>
      command(server, commands);
  const dump = join(server.folder, 'dump.rdb');
  let coming: Promise<void> | undefined;
  let other: ReturnType<typeof openInspector> | undefined;
  return [
    {
      name: 'has no connection left',
      strike: async () => {
        // The only connection belongs to another client.
        other = openInspector(server.url);
        await other.call('CONFIG', ['SET', 'maxclients', '1']);
        await other.call('CLIENT', endConnections.slice(1));
      },
      mend: async () => {
        await other?.call('CONFIG', ['SET', 'maxclients', '100']);
        other?.disconnect();
      },
      reason: /no connection left/,
    },
    {
      name: 'is busy with a script of another client',
      strike: async () => {
        await command(server, [['CONFIG', 'SET', 'busy-reply-threshold', '50']]);
        command(server, [['EVAL', 'while true do end', '0']]).catch(() => undefined);
      },
      mend: tell(['SCRIPT', 'KILL']),
      reason: /busy with a script/,
    },
    {
      name: 'has no memory left',
      strike: tell(['CONFIG', 'SET', 'maxmemory', '1']),
      mend: tell(['CONFIG', 'SET', 'maxmemory', '0']),
      reason: /memory limit/,
      isReadable: true,
    },
    {
      name: 'is a read-only replica',
      strike: tell(['REPLICAOF', '127.0.0.1', '1']),
      mend: tell(['REPLICAOF', 'NO', 'ONE']),
      reason: /read-only replica/,
      isReadable: true,
    },
    {
      name: 'cannot save to disk',
      strike: async () => {
        // A folder in the place of the file.
        await mkdir(dump);
        await command(server, [['CONFIG', 'SET', 'save', '3600 1'], ['BGSAVE']]);
      },
      mend: async () => {
        await rmdir(dump);
        await command(server, [['CONFIG', 'SET', 'save', '']]);
      },
      reason: /cannot save to disk/,
      isReadable: true,
    },
    {
      name: 'refuses the password',
      strike: tell(['CONFIG', 'SET', 'requirepass', 'another'], endConnections),
      mend: tell(['AUTH', 'another'], ['CONFIG', 'SET', 'requirepass', '']),
      reason: /refuses the credentials/,
    },
    {
      name: 'loads its data',
      strike: async () => {
        // Only while it loads a snapshot it answers in between.
        await rewriteLog(server);
        await server.stop();
        coming = server.start(['--key-load-delay', '30000', '--loading-process-events-interval-bytes', '1024']);
      },
      mend: async () => {
        await command(server, [['CONFIG', 'SET', 'key-load-delay', '0']]);
        await coming;
      },
      reason: /still loading/,
    },
    {
      name: 'ends all connections',
      strike: tell(endConnections, endConnections, endConnections),
      mend: () => undefined,
      reason: /./,
      ill: [],
      isReadable: true,
    },
  ];
}

/** Runs commands on one connection. */
async function command(server: RedisProcess, commands: readonly (readonly string[])[]): Promise<void> {
  const redis = openInspector(server.url);
  redis.on('error', () => undefined);
  try {
    for (const [name = '', ...args] of commands) await redis.call(name, args);
  } finally {
    redis.disconnect();
  }
}

async function rewriteLog(server: RedisProcess): Promise<void> {
  const redis = openInspector(server.url);
  await redis.call('BGREWRITEAOF');
  while (!/aof_rewrite_in_progress:0[^]*aof_rewrite_scheduled:0/.test(await redis.info('persistence')));
  redis.disconnect();
}
