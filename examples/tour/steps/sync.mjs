// Synchronising two devices through the service with kinto.js: everything at first, then changes in both directions,
// also those made while there was no network.
import { isDeepStrictEqual } from 'node:util';
import { comparable, createDevice, strategies } from '../devices.mjs';

/** @typedef {import('../tour.mjs').Tour} Tour */
/** @typedef {import('../devices.mjs').Device} Device */
/** @typedef {import('../devices.mjs').SyncResult} SyncResult */

/** Nothing listens here: what a device finds without a network. */
const nowhere = 'http://127.0.0.1:2/v1';

/**
 * Synchronises two copies without lost changes.
 *
 * @param {Tour} tour
 */
export async function synchronise(tour) {
  const { narrator } = tour;
  narrator.chapter('Synchronise two devices');
  narrator.say('Two devices of Alice, each with kinto.js and its own IndexedDB. At first both are empty.');
  const [phone, laptop] = [deviceOf(tour, 'phone'), deviceOf(tour, 'laptop')];
  const first = { phone: await phone.sync(), laptop: await laptop.sync() };
  narrator.result(`phone: ${tell(first.phone)}`);
  narrator.result(`laptop: ${tell(first.laptop)}`);

  narrator.say(
    'Created on the phone, arrives on the laptop. Then changed, then deleted, and each time only that travels.',
  );
  const { data: created } = await phone.create({ name: 'Phonish', type: 'constructed' });
  const creation = await exchange(phone, laptop);
  await phone.update({ id: created.id, name: 'Phonish, revised' }, { patch: true });
  const update = await exchange(phone, laptop);
  const revised = await laptop.get(created.id);
  await laptop.delete(created.id);
  const deletion = await exchange(laptop, phone);

  narrator.say('Without a network both go on working. Synchronising fails, and nothing is lost.');
  await phone.update({ id: 'deu', note: 'from the phone' }, { patch: true });
  const { data: onPhone } = await phone.create({ name: 'Subwayan', type: 'constructed' });
  await laptop.update({ id: 'ita', note: 'from the laptop' }, { patch: true });
  await laptop.delete('tlh');
  const offline = await phone.sync({ remote: nowhere, retry: 0 }).then(
    () => 'it synchronised',
    (/** @type {unknown} */ error) => (error instanceof Error ? error.message : String(error)),
  );
  narrator.result(`phone without network: ${offline}`);

  narrator.say('Back online each sends what it has and gets what it lacks.');
  const reunion = { ...(await exchange(phone, laptop)), back: await phone.sync() };
  narrator.result(`phone again: ${tell(reunion.back)}`);
  const equal = await compare(tour, { phone, laptop });
  return {
    devices: { phone, laptop },
    first: { phone: countsOf(first.phone), laptop: countsOf(first.laptop) },
    creation: factsOf(creation),
    update: { ...factsOf(update), name: revised.data['name'] },
    deletion: factsOf(deletion),
    offline,
    reunion: { ...factsOf(reunion), back: countsOf(reunion.back), createdOnPhone: onPhone.id },
    equal,
  };

  /** One device sends, the other fetches. @param {Device} from @param {Device} to */
  async function exchange(from, to) {
    const [fromName, toName] = from === phone ? ['phone', 'laptop'] : ['laptop', 'phone'];
    const sent = await from.sync();
    narrator.result(`${fromName}: ${tell(sent)}`);
    const fetched = await to.sync();
    narrator.result(`${toName}: ${tell(fetched)}`);
    return { sent, fetched };
  }
}

/**
 * Changes the same record on both devices, and settles it in each way there is.
 *
 * @param {Tour} tour
 * @param {{ phone: Device, laptop: Device }} devices
 */
export async function settleConflicts(tour, { phone, laptop }) {
  const { narrator } = tour;
  narrator.chapter('Settle conflicts');
  narrator.say('Both change one record. The second to synchronise gets a conflict with both versions, and decides.');
  const manual = await clash('swa', 'manual');
  const conflict = manual.conflicts.at(0);
  if (conflict === undefined) throw new Error('The laptop was not told about the conflict.');
  narrator.result(`here "${String(conflict.local['note'])}", there "${String(conflict.remote['note'])}"`);
  const note = `${String(conflict.remote['note'])}; ${String(conflict.local['note'])}`;
  await laptop.resolve(conflict, { ...conflict.local, note });
  const settled = await laptop.sync();
  narrator.result(`laptop, after merging: ${tell(settled)}`);
  await phone.sync();

  narrator.say('It can leave the decision to a rule: what the service has wins,');
  const serverWins = await clash('yor', strategies.SERVER_WINS);
  await phone.sync();
  narrator.say('or what I have wins.');
  const clientWins = await clash('zul', strategies.CLIENT_WINS);
  await phone.sync();

  narrator.say('Deleted on the phone, changed on the laptop: if mine wins, the record is back.');
  await phone.delete('hau');
  await laptop.update({ id: 'hau', note: 'laptop' }, { patch: true });
  await phone.sync();
  const revived = await laptop.sync({ strategy: strategies.CLIENT_WINS });
  narrator.result(`laptop, client wins: ${tell(revived)}`);
  await phone.sync();

  narrator.say('In the end the phone, the laptop and the service hold the same.');
  const equal = await compare(tour, { phone, laptop });
  return {
    manual: { ...countsOf(manual), settled: countsOf(settled), notes: await notesOf('swa') },
    serverWins: { ...countsOf(serverWins), notes: await notesOf('yor') },
    clientWins: { ...countsOf(clientWins), notes: await notesOf('zul') },
    revived: { ...countsOf(revived), notes: await notesOf('hau') },
    equal,
  };

  /** Changes a record on both; the phone comes first. @param {string} id @param {string} strategy */
  async function clash(id, strategy) {
    await phone.update({ id, note: 'phone' }, { patch: true });
    await laptop.update({ id, note: 'laptop' }, { patch: true });
    await phone.sync();
    const result = await laptop.sync({ strategy });
    narrator.result(`laptop, ${strategy.replace('_', ' ')}: ${tell(result)}`);
    return result;
  }

  /** @param {string} id */
  async function notesOf(id) {
    const held = await Promise.all([phone.get(id), laptop.get(id)]);
    const { body } = await tour.alice.request('GET', `${tour.records}/${id}`);
    return [...held.map(({ data }) => data['note']), Array.isArray(body.data) ? undefined : body.data?.['note']];
  }
}

/** @param {Tour} tour @param {string} name */
function deviceOf({ alice, collection, bucket }, name) {
  return createDevice({
    name: `${bucket}-${name}`,
    remote: alice.api,
    authorization: alice.credentials['Authorization'] ?? '',
    bucket: bucket.split('/').at(-1) ?? '',
    collection: collection.split('/').at(-1) ?? '',
  });
}

/**
 * Compares every record of both devices with the service's.
 *
 * @param {Tour} tour
 * @param {{ phone: Device, laptop: Device }} devices
 */
async function compare({ alice, records, narrator }, { phone, laptop }) {
  const onServer = comparable(await alice.readAll(records));
  const [onPhone, onLaptop] = [comparable((await phone.list()).data), comparable((await laptop.list()).data)];
  const facts = {
    records: onServer.length,
    phone: isDeepStrictEqual(onPhone, onServer),
    laptop: isDeepStrictEqual(onLaptop, onServer),
  };
  const same = facts.phone && facts.laptop ? 'the same' : 'NOT the same';
  narrator.result(`service ${onServer.length}, phone ${onPhone.length}, laptop ${onLaptop.length} records: ${same}`);
  return facts;
}

/** @param {SyncResult} result */
function countsOf({ ok, created, updated, deleted, published, conflicts, resolved, errors }) {
  return {
    ok,
    created: created.length,
    updated: updated.length,
    deleted: deleted.length,
    published: published.length,
    conflicts: conflicts.length,
    resolved: resolved.length,
    errors: errors.length,
  };
}

/** @param {{ sent: SyncResult, fetched: SyncResult }} results */
function factsOf({ sent, fetched }) {
  return { sent: countsOf(sent), fetched: countsOf(fetched) };
}

/** @param {SyncResult} result */
function tell(result) {
  const { ok, ...counts } = countsOf(result);
  const parts = Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`]));
  return `${ok ? 'ok' : 'not done'}, ${parts.length === 0 ? 'nothing new' : parts.join(', ')}`;
}
