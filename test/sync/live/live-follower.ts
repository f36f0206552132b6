// Clients that follow lists by streams, long polls, or one stream of several lists. They reconnect as browsers do.
import { EventClient, type Event } from '../../live/event-client.ts';
import { authorizationOf } from '../../../src/testing/index.ts';
import type { Entry } from './ledger.ts';
import { setTimeout as pause } from 'node:timers/promises';
import type { Track } from './track.ts';

export interface FollowerOptions {
  readonly user: string;
  /** Returns the root of a server, another one from time to time. */
  readonly server: () => string;
}

/** Time after which a client comes back to a server that refuses it. */
const restMs = 50;

export abstract class LiveFollower {
  readonly tracks: readonly Track[];
  readonly options: FollowerOptions;
  frames = 0;
  resyncs = 0;
  /** Whether the server refuses the client at present. */
  isRefused = false;
  protected isStopped = false;
  #run: Promise<void> | undefined;
  #failure: unknown;

  constructor(tracks: readonly Track[], options: FollowerOptions) {
    this.tracks = tracks;
    this.options = options;
  }

  start(): void {
    this.#run = this.#follow();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.cut();
    await this.#run;
    this.requireFaultless();
  }

  /** @throws the first fault that this client has found */
  requireFaultless(): void {
    if (this.#failure !== undefined) throw this.#failure as Error;
  }

  /** Ends the connection, as a bad network does. */
  abstract cut(): void;
  /** Stops reading for a moment. */
  abstract hold(milliseconds: number): void;
  protected abstract followOnce(): Promise<void>;

  /** Fetches the list of a track. Returns whether the client may see it. */
  protected async fetchList(track: Track): Promise<boolean> {
    const { list, filter } = track.options;
    const response = await this.get(`${list}?${filter}`);
    if (response?.status !== 200) {
      track.drop();
      return false;
    }
    track.begin((response.body as { data: Entry[] }).data, response.etag);
    return true;
  }

  protected async get(
    path: string,
  ): Promise<{ status: number; body: unknown; etag: number; resync: boolean } | undefined> {
    try {
      const response = await fetch(`${this.options.server()}${path}`, {
        headers: { authorization: authorizationOf(this.options.user) },
        signal: AbortSignal.timeout(20_000),
      });
      const { status, headers } = response;
      const body: unknown = await response.json();
      const etag = Number((headers.get('etag') ?? '"0"').slice(1, -1));
      return { status, body, etag, resync: headers.has('resync') };
    } catch {
      // The server was stopped or killed.
      return undefined;
    }
  }

  async #follow(): Promise<void> {
    while (!this.isStopped) {
      try {
        await this.followOnce();
      } catch (error) {
        this.#failure ??= error;
        return;
      }
      if (!this.isStopped) await pause(restMs);
    }
  }
}

/** Follows by server-sent events: one list, or several on one connection. */
export class StreamFollower extends LiveFollower {
  #client: EventClient | undefined;
  #lastId: string | undefined;
  /** `_since` of the address, which stays the same when the client reconnects. */
  #begin = '';
  /** Whether the client begins anew when it reconnects, because it has dropped a list. */
  #hasDropped = false;

  /**
   * Whether the user sees single objects of the list. Such clients do not fetch the list: it could show an object that is shared
   * for less time than the server takes to notice.
   */
  get #seesPart(): boolean {
    return this.tracks.some(({ options }) => !options.seesAll);
  }

  override cut(): void {
    this.#client?.close();
  }

  override hold(milliseconds: number): void {
    const client = this.#client;
    client?.pause();
    setTimeout(() => client?.resume(), milliseconds);
  }

  protected override async followOnce(): Promise<void> {
    const client = await this.#open();
    if (client === undefined) return;
    this.#client = client;
    if (client.status !== 200) {
      this.#refused(client);
      return;
    }
    this.isRefused = false;
    for (;;) {
      const event = await client.nextOrEnd();
      if (event === undefined) return;
      this.frames += 1;
      const track = this.tracks[Number(event.data.watch ?? 0)]!;
      await this.#apply(event, track);
      if (this.#hasDropped && this.#seesPart) {
        client.close();
        return;
      }
      if (this.isStopped) return;
    }
  }

  #refused({ status, error }: EventClient): void {
    if (status >= 500) return;
    if (![401, 403, 404, 410].includes(status)) throw new Error(`refused: ${JSON.stringify(error)}`);
    this.isRefused = status !== 410;
    this.#lastId = undefined;
    for (const track of this.tracks) track.drop();
  }

  async #apply({ event, id, data }: Event, track: Track): Promise<void> {
    if (event === 'changes') {
      for (const entry of data.data as Entry[]) track.receive(entry);
    } else if (event === 'current') {
      if (track.isUnknown) await this.fetchList(track);
      else track.complete(timestampIn(id!, data.watch as number | undefined));
    } else if (event === 'resync') {
      this.resyncs += 1;
      this.#drop(track);
    } else if (event === 'refused' || (event === 'end' && data.errno !== 201)) {
      this.#drop(track);
      this.isRefused = true;
    }
    // A client that has fetched the list after a resync goes on from there.
    if (this.tracks.every(({ isUnknown }) => !isUnknown)) this.#hasDropped = false;
    this.#lastId = this.#hasDropped ? undefined : (id ?? this.#lastId);
  }

  #drop(track: Track): void {
    track.drop();
    this.#hasDropped = true;
  }

  async #open(): Promise<EventClient | undefined> {
    const { origin, pathname } = new URL(this.options.server());
    const isFresh = this.#lastId === undefined;
    if (isFresh) {
      // Some clients fetch the list, the others receive it.
      this.#begin = this.#seesPart || Math.random() < 0.5 ? '_since=0' : '';
      for (const track of this.tracks) {
        if (this.#begin === '') track.drop();
        else track.begin([], 0);
      }
      this.#hasDropped = false;
    }
    const queries = this.tracks.map(({ options }) =>
      [options.filter, this.#begin].filter((part) => part !== '').join('&'),
    );
    const [only] = this.tracks;
    const path =
      this.tracks.length === 1
        ? `${only!.options.list}?_live=sse&${queries[0]!}`
        : `/live?${this.tracks.map(({ options }, n) => `watch=${encodeURIComponent(`${options.list}?${queries[n]!}`)}`).join('&')}`;
    const headers: Record<string, string> = isFresh ? {} : { 'last-event-id': this.#lastId! };
    try {
      return await EventClient.open(origin, pathname + path, { auth: this.options.user, headers });
    } catch {
      // The server was stopped or killed.
      return undefined;
    }
  }
}

/** Returns the timestamp of one list in an id. */
function timestampIn(id: string, watch: number | undefined): number {
  return watch === undefined ? Number(id) : Number.parseInt(id.split('.')[watch]!, 36);
}

/** Follows by long polls. */
export class PollFollower extends LiveFollower {
  override cut(): void {
    // Each poll ends soon.
  }

  override hold(): void {
    // There is nothing to hold.
  }

  protected override async followOnce(): Promise<void> {
    const track = this.tracks[0]!;
    if (track.isUnknown && !(await this.fetchList(track))) {
      this.isRefused = true;
      return;
    }
    this.isRefused = false;
    const { list, filter } = track.options;
    const response = await this.get(
      `${list}?_live=poll&_wait=1&_since=${track.completeTo}&${filter}${filter === '' ? '' : '&_gone=true'}`,
    );
    if (response === undefined || response.status >= 500) return;
    if (response.status !== 200 || response.resync) {
      if (response.resync) this.resyncs += 1;
      track.drop();
      return;
    }
    this.frames += 1;
    const { data } = response.body as { data: Entry[] };
    for (const entry of data.toSorted((a, b) => a.last_modified - b.last_modified)) track.receive(entry);
    track.complete(response.etag);
  }
}
