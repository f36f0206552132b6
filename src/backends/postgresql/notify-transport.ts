// Carries hints by NOTIFY and LISTEN, over one connection outside the pool. A NOTIFY in a transaction that writes would make all
// commits of the server that notify wait for each other.
import type { Client } from 'pg';
import type { HintTransport, MessageEvents, MessageSource } from '../hints/transport.ts';

/** The server takes payloads below 8,000 bytes. */
const maxPayloadBytes = 7900;
/** How long connecting and each statement may take. */
const timeoutMs = 10_000;
/** How long the server may take to say goodbye. */
const endMs = 300;

/**
 * Channels belong to the database. Installations that share one have tables in schemas of their own, so the number of the schema
 * makes their channels differ.
 */
const findChannel = `SELECT 'coffer_changes_' || c.relnamespace FROM pg_class c WHERE c.oid = to_regclass('coffer_lists')`;
// The texts are sent in the order of the array, as one transaction without a snapshot of any table.
const notify = 'SELECT pg_notify($1, m) FROM unnest($2::text[]) AS m';

/** Makes connections to the server. */
export interface ClientSource {
  createClient(name: string, timeoutMs: number): Client;
}

interface Session {
  readonly client: Client;
  readonly channel: string;
}

export class NotifyTransport implements HintTransport {
  readonly maxBytes = maxPayloadBytes;
  readonly #source: ClientSource;
  #session: Promise<Session> | undefined;
  /** The client of the session, also while it connects. */
  #client: Client | undefined;
  #events: MessageEvents | undefined;
  #isClosed = false;

  constructor(source: ClientSource) {
    this.#source = source;
  }

  async send(messages: readonly string[]): Promise<void> {
    const { client, channel } = await this.#connect();
    await this.#using(client, () => client.query(notify, [channel, messages]));
  }

  async listen(events: MessageEvents): Promise<MessageSource> {
    const { client, channel } = await this.#connect();
    this.#events = events;
    try {
      await this.#using(client, () => client.query(`LISTEN ${channel}`));
    } catch (error) {
      this.#events = undefined;
      throw error;
    }
    return {
      probe: async () => void (await this.#using(client, () => client.query('SELECT 1'))),
      end: () => this.#drop(client),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#events = undefined;
    const client = this.#client;
    if (client === undefined) return;
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, endMs);
    });
    await Promise.race([client.end().catch(() => {}), tooLate]);
    clearTimeout(timer);
    this.#drop(client);
  }

  #connect(): Promise<Session> {
    if (this.#isClosed) return Promise.reject(new Error('the hints are closed'));
    this.#session ??= this.#open();
    return this.#session;
  }

  async #open(): Promise<Session> {
    const client = this.#source.createClient('coffer hints', timeoutMs);
    this.#client = client;
    client.on('error', (error: Error) => this.#drop(client, error));
    client.on('end', () => this.#drop(client));
    client.on('notification', ({ payload = '' }) => {
      if (this.#client === client) this.#events?.received(payload);
    });
    return this.#using(client, async () => {
      await client.connect();
      const { rows } = await client.query<[string]>({ text: findChannel, rowMode: 'array' });
      const [channel] = rows[0] ?? [];
      if (channel === undefined) throw new Error('the database has no schema yet');
      return { client, channel };
    });
  }

  /** Runs something on the connection, which is given up when that fails. */
  async #using<T>(client: Client, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#drop(client, error instanceof Error ? error : undefined);
      throw error;
    }
  }

  /** Closes a connection without waiting for the server, and reports the loss when messages arrived on it. */
  #drop(client: Client, error: Error = new Error('the connection was closed')): void {
    client.connection.stream.destroy();
    if (this.#client !== client) return;
    const events = this.#events;
    this.#client = undefined;
    this.#session = undefined;
    this.#events = undefined;
    events?.lost(error);
  }
}
