// What a client of a history is: a local copy that is edited, also offline, and that resolves conflicts by a strategy.
import type { Coffer, Collection } from '@coffer/client';
import type { Network, Turns } from './network.ts';

/** A record of the histories. Each edit sets one attribute to a number that no other edit uses; 0 is the first value. */
export interface Item {
  readonly id: string;
  readonly a: number;
  readonly b: number;
}

export type Field = 'a' | 'b';

export type Strategy =
  /** The edit of the client is dropped. */
  | 'server'
  /** The record becomes that of the client. */
  | 'client'
  /** Attributes that the client has edited get its values. A deletion by others wins. */
  | 'merge'
  /** The application decides about each conflict: `decide` below. */
  | 'manual';

/** What the user decides in a conflict about an edit: in every second one for the own edit. */
export const decide = ({ a, b }: Pick<Item, 'a' | 'b'>): 'client' | 'server' =>
  Math.max(a, b) % 2 === 0 ? 'client' : 'server';

/** What the clients of one history share. */
export interface Setting {
  /** Name of the history, different from all others. */
  readonly name: string;
  readonly strategy: Strategy;
  readonly client: Coffer;
  readonly list: Collection<Item>;
  /** Root of the API, and the header for clients other than those of the package. */
  readonly remote: string;
  readonly authorization: string;
  readonly network: Network;
  readonly turns: Turns;
  /** Whether being offline means that the application pauses the replication, in place of failing requests. */
  readonly isPaused: boolean;
  /** Called with records as the service has confirmed their writes. */
  readonly confirmed: (record: Item) => void;
  /** Called with values whose edit has failed visibly, for the user to repeat it. */
  readonly refused: (value: number) => void;
}

/** Content of a copy by id. With timestamps, where the client shows them. */
export type Content = ReadonlyMap<string, Item & { readonly last_modified?: number }>;

export interface Replica {
  /** Sets an attribute, in a new record if there is none. Returns whether the copy can be edited, as soon as it is loaded. */
  set(id: string, field: Field, value: number): Promise<boolean>;
  /** Deletes a record. Returns whether there is one. */
  remove(id: string): Promise<boolean>;
  online(isOnline: boolean): Promise<void>;
  /** Closes the application and starts it again. */
  restart(): Promise<void>;
  /** Exchanges what can be exchanged. Returns whether nothing is left to send. */
  settle(): Promise<boolean>;
  content(): Promise<Content>;
  close(): Promise<void>;
}
