// What may happen to a PostgreSQL server.
import pg from 'pg';
import { migrateDatabase, runSql } from '../support/postgresql-setup.ts';
import { PostgresServer } from '../support/postgresql-server.ts';
import { Workspace } from '../support/server-process.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { environmentFor, networkFaults, type Fault, type Place } from './fault.ts';

const maxConnections = 20;
const endSessions = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'`;

/** A server whose database belongs to the role `app`, which is no superuser. */
export async function startPostgresql(): Promise<Place & { readonly server: PostgresServer; readonly url: string }> {
  const server = await PostgresServer.create({ settings: [`max_connections=${maxConnections}`] });
  await runSql(server.url('postgres'), 'CREATE ROLE app LOGIN');
  await runSql(server.url('postgres'), 'CREATE DATABASE app OWNER app');
  const direct = asApp(server, server.port);
  await migrateDatabase(direct);
  const network = await TcpProxy.to(server.port);
  const workspace = await Workspace.create();
  return {
    server,
    url: server.url('app'),
    network,
    workspace,
    environment: environmentFor(workspace, 'postgresql', asApp(server, network.port)),
    faults: [...networkFaults(network), ...serverFaults(server), ...sqlFaults(server.url('app'), direct)],
    async remove() {
      await network.close();
      await server.remove();
      await workspace.remove();
    },
  };
}

function asApp(server: PostgresServer, port: number): string {
  const url = new URL(server.url('app'));
  url.username = 'app';
  url.port = String(port);
  return url.href;
}

function serverFaults(server: PostgresServer): readonly Fault[] {
  const reason = /cannot be reached \(ECONN|connection broke|going down/;
  return [
    { name: 'restarts', strike: () => server.stop(), mend: () => server.start(), reason },
    { name: 'dies', strike: () => server.kill(), mend: () => server.start(), reason },
    { name: 'freezes', strike: () => server.freeze(), mend: () => server.thaw(), reason: /in time|no answer within/ },
  ];
}

/** @param direct address of the service's role, without the network in between */
function sqlFaults(url: string, direct: string): readonly Fault[] {
  const sql = (text: string) => () => runSql(url, text);
  let held: pg.Client[] = [];
  const letGo = async (): Promise<void> => {
    await Promise.all(held.splice(0).map((client) => client.end()));
  };
  return [
    {
      name: 'has no connection left',
      strike: async () => (held = await takeConnections(url, direct)),
      mend: letGo,
      reason: /no connections? left/,
    },
    {
      name: 'waits for a lock of another session',
      strike: async () => {
        const client = new pg.Client(url);
        await client.connect();
        await client.query('BEGIN; LOCK TABLE coffer_objects IN ACCESS EXCLUSIVE MODE');
        held = [client];
      },
      mend: letGo,
      reason: /lock was not granted in time|took too long/,
      ill: ['storage'],
    },
    {
      name: 'works too long on statements',
      strike:
        sql(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END';
        CREATE TRIGGER slow BEFORE INSERT OR UPDATE OR DELETE ON coffer_objects EXECUTE FUNCTION slow()`),
      mend: sql('DROP FUNCTION slow() CASCADE'),
      reason: /took too long|lock was not granted/,
      ill: ['storage'],
      isReadable: true,
    },
    {
      name: 'is read-only',
      strike: sql(`ALTER ROLE app SET default_transaction_read_only = on; ${endSessions}`),
      mend: sql('ALTER ROLE app RESET default_transaction_read_only'),
      reason: /read-only/,
      isReadable: true,
    },
    {
      name: 'has revoked the right to write',
      strike: sql('REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public FROM app'),
      mend: sql('GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app'),
      reason: /lacks a right/,
      isReadable: true,
    },
    {
      name: 'refuses the user',
      strike: sql(`ALTER ROLE app NOLOGIN; ${endSessions}`),
      mend: sql('ALTER ROLE app LOGIN'),
      reason: /refuses the user/,
    },
    {
      name: 'ends all sessions, again and again',
      strike: () => repeat(sql(endSessions), 5),
      mend: () => undefined,
      reason: /./,
      ill: [],
      isReadable: true,
    },
  ];
}

async function repeat(task: () => Promise<unknown>, times: number): Promise<void> {
  for (let n = 0; n < times; n++) await task();
}

/** Opens sessions until the server gives no more, and none is left to the service. */
async function takeConnections(url: string, direct: string): Promise<pg.Client[]> {
  const clients: pg.Client[] = [];
  const isNoneLeft = async (): Promise<boolean> => {
    const client = new pg.Client(direct);
    client.on('error', () => undefined);
    try {
      await client.connect();
      clients.push(client);
      return false;
    } catch (error) {
      if (error instanceof pg.DatabaseError && error.code === '53300') return true;
      throw error;
    }
  };
  const others = `usename = 'app' AND application_name = 'coffer'`;
  const superuser = new pg.Client(url);
  await superuser.connect();
  for (;;) {
    await superuser.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${others}`);
    while (!(await isNoneLeft()));
    const left = await superuser.query(`SELECT FROM pg_stat_activity WHERE ${others}`);
    if (left.rowCount === 0) break;
  }
  await superuser.end();
  return clients;
}
