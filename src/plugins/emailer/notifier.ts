// From an event to mails: finds the hooks that apply to it, fills their templates, and sends. All of it in the background,
// after the commit, from committed state.
import { getKey } from '../../base/json.ts';
import type { Logger } from '../../contracts/logger.ts';
import type { Mailer, MailMessage } from '../../contracts/mailer.ts';
import type { StorageReader } from '../../contracts/storage.ts';
import { isTombstone, type StoredObject } from '../../core/objects/stored.ts';
import type { Change } from '../../engine/events/event.ts';
import { addressOf, isAddress } from './addresses.ts';
import { Background } from './background.ts';
import { maxSubjectChars, readHooks, type Hook, type HookRules } from './hooks.ts';
import { matchesAll, placeholdersOf, type Occasion } from './occasion.ts';
import { fillTemplate, type Placeholders } from './template.ts';

export interface NotifierOptions {
  readonly storage: StorageReader;
  readonly mailer: Mailer;
  readonly logger: Logger;
  readonly limits: Omit<HookRules, 'bucketId'>;
  readonly maxWaiting: number;
  readonly versionPrefix: string;
  readonly shownSettings: Placeholders;
}

/** Events looked at, and mails sent, at once. */
const atOnce = 2;

export class Notifier {
  readonly #options: NotifierOptions;
  readonly #events: Background;
  readonly #mails: Background;

  constructor(options: NotifierOptions) {
    this.#options = options;
    const { logger, maxWaiting: waiting } = options;
    this.#events = new Background({ atOnce, waiting, logger, failure: 'Mails about a change could not be written' });
    this.#mails = new Background({ atOnce, waiting, logger, failure: 'A mail about a change could not be sent' });
  }

  /** Sends what the hooks say, later. Never throws. */
  notify(occasion: Occasion): void {
    if (!this.#events.add(() => this.#tell(occasion))) {
      this.#options.logger.error({ event: occasion.event }, 'Mails about a change were dropped: too many wait already');
    }
  }

  /** Waits for what is under way, for so long. */
  async close(timeoutMs: number): Promise<void> {
    const dropped = (await this.#events.close(timeoutMs)) + (await this.#mails.close(timeoutMs));
    if (dropped > 0) this.#options.logger.error({ dropped }, 'Mails about changes were dropped: the service stops');
  }

  async #tell(occasion: Occasion): Promise<void> {
    const { logger } = this.#options;
    let dropped = 0;
    // An event is about the objects of one list, mostly.
    const known = new Map<string, Promise<readonly Hook[]>>();
    const groups = new Map<string, Promise<readonly string[]>>();
    for (const change of occasion.changes) {
      const list = change.kind === 'collection' ? change.uri : change.list.parent;
      let hooks = known.get(list);
      if (hooks === undefined) {
        hooks = this.#findHooks(change);
        known.set(list, hooks);
      }
      const meant = (await hooks).filter(({ filters }) => matchesAll(filters, occasion, change));
      if (meant.length === 0) continue;
      const placeholders = placeholdersOf(occasion, change, this.#options);
      for (const hook of meant) {
        const to = await this.#findAddresses(hook, change.ids['bucket_id']!, groups);
        if (to.length === 0) continue;
        if (!this.#mails.add(() => this.#options.mailer.send(write(hook, to, placeholders)))) dropped++;
      }
    }
    if (dropped > 0) logger.error({ dropped }, 'Mails about a change were dropped: too many wait already');
  }

  /** The hooks of the collection, or of its bucket when it has none of its own. */
  async #findHooks(change: Change): Promise<readonly Hook[]> {
    const { storage, limits, logger } = this.#options;
    const { bucket_id: bucketId = '', collection_id: collectionId = '' } = change.ids;
    const rules = { ...limits, bucketId };
    const bucketUri = `/buckets/${bucketId}`;
    const find = async (
      kind: 'collection' | 'bucket',
      parent: string,
      id: string,
    ): Promise<readonly Hook[] | undefined> => {
      const object = ownState(change, kind) ?? (await storage.get({ kind, parent }, id));
      if (object === undefined) return undefined;
      return readHooks(object.attributes, rules, (name, description) =>
        logger.warn({ [kind]: id, name, description }, 'A hook for mails is passed over'),
      );
    };
    return (await find('collection', bucketUri, collectionId)) ?? (await find('bucket', '', bucketId)) ?? [];
  }

  async #findAddresses(
    { recipients }: Hook,
    bucketId: string,
    groups: Map<string, Promise<readonly string[]>>,
  ): Promise<readonly string[]> {
    const { maxRecipients } = this.#options.limits;
    const found = new Map<string, string>();
    for (const recipient of recipients) {
      let mailboxes: readonly string[];
      if ('mailbox' in recipient) mailboxes = [recipient.mailbox];
      else {
        const { groupId } = recipient;
        const members = groups.get(groupId) ?? this.#findMembers(bucketId, groupId);
        groups.set(groupId, members);
        mailboxes = await members;
      }
      for (const mailbox of mailboxes) {
        if (found.size === maxRecipients) return [...found.values()];
        const address = addressOf(mailbox);
        if (!found.has(address)) found.set(address, mailbox);
      }
    }
    return [...found.values()];
  }

  /** Those whose user ids, without the name of the way of authentication, are addresses. */
  async #findMembers(bucketId: string, groupId: string): Promise<readonly string[]> {
    const group = await this.#options.storage.get({ kind: 'group', parent: `/buckets/${bucketId}` }, groupId);
    const members = group === undefined ? undefined : getKey(group.attributes, 'members');
    if (!Array.isArray(members)) return [];
    return members
      .filter((member) => typeof member === 'string')
      .map((member) => member.slice(member.indexOf(':') + 1))
      .filter(isAddress);
  }
}

/** The object, when the change is about itself; a deleted one as it was. */
function ownState({ kind, old, new: entry }: Change, wanted: string): StoredObject | undefined {
  if (kind !== wanted) return undefined;
  return isTombstone(entry) ? old : entry;
}

function write({ subject, template, sender }: Hook, to: readonly string[], placeholders: Placeholders): MailMessage {
  return {
    to,
    subject: fillTemplate(subject, placeholders).slice(0, maxSubjectChars),
    text: fillTemplate(template, placeholders),
    ...(sender === undefined ? {} : { sender }),
  };
}
