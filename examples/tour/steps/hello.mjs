// Who is there, and who am I: the root view of the service.

/** @typedef {import('../tour.mjs').Tour} Tour */

/**
 * @typedef {object} RootView
 * @property {string} project_version
 * @property {string} http_api_version
 * @property {{ batch_max_requests: number | null }} settings
 * @property {{ id: string, bucket?: string }} [user]
 * @property {Record<string, { description: string }>} capabilities
 */

/**
 * Reads the root view anonymously and as a user.
 *
 * @param {Tour} tour
 */
export async function sayHello({ alice, bob, stranger, narrator }) {
  narrator.chapter('Hello');
  narrator.say('The root view describes the service and its features. Any caller may read it.');
  const anonymous = await stranger.request('GET', '/');
  narrator.show(anonymous);

  narrator.say(
    'With a name and a password it also says who I am. Any pair is a user; there is nothing to sign up for.',
  );
  const mine = viewOf(await alice.request('GET', '/'));
  const theirs = viewOf(await bob.request('GET', '/'));
  if (mine.user === undefined || theirs.user === undefined) {
    throw new Error('This server knows no users with Basic authentication, which the tour needs.');
  }
  narrator.result(`Alice is ${mine.user.id}`);
  narrator.result(`her own bucket would be ${mine.user.bucket ?? 'none: the server has no default bucket'}`);
  narrator.result(`capabilities: ${Object.keys(mine.capabilities).join(', ')}`);
  return {
    httpApiVersion: mine.http_api_version,
    anonymousUser: viewOf(anonymous).user,
    aliceId: mine.user.id,
    bobId: theirs.user.id,
    personalBucket: mine.user.bucket,
    capabilities: Object.keys(mine.capabilities),
    // No limit is possible as well; a hundred is a good size then.
    batchSize: mine.settings.batch_max_requests ?? 100,
  };
}

/** @param {{ body: unknown }} answer @returns {RootView} */
function viewOf({ body }) {
  return /** @type {RootView} */ (body);
}
