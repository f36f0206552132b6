// Mails for the review events of the plugin signer.
import { afterAll, expect, it } from 'vitest';
import { createKeys, setStatus, userIdOf } from '../../support/signing.ts';
import { start } from './service.ts';

const keys = createKeys();
afterAll(() => keys.remove());

it('reviewers get a mail for a request, and editors for the result.', async () => {
  const {
    service,
    owner: editor,
    sink,
  } = await start({
    settings: {
      includes: 'signer emailer',
      'signer.resources': '/buckets/staging -> /buckets/main',
      'signer.to_review_enabled': 'true',
      ...keys.settings,
    },
  });
  const reviewer = service.asUser('reviewer');
  const source = '/buckets/staging/collections/limits';
  await editor.request('PUT', '/v1/buckets/staging');
  await editor.request('PUT', `/v1${source}`);
  const reviewers = '/buckets/staging/groups/limits-reviewers';
  const members = [await userIdOf(reviewer), 'account:rae@example.org'];
  await editor.request('PATCH', `/v1${reviewers}`, { body: { data: { members } } });
  const template = '{event} of {collection_id}: {comment} ({changes_count})';
  const hooks = [
    { event: 'kinto_remote_settings.signer.events.ReviewRequested', template, recipients: [reviewers] },
    { event: String.raw`^kinto_signer\.events\.Review(Approved|Rejected)$`, template, recipients: ['ed@example.org'] },
    { event: 'ReviewCanceled', template: 'never', recipients: ['ed@example.org'] },
  ];
  const saved = await editor.request('PATCH', `/v1${source}`, { body: { data: { 'kinto-emailer': { hooks } } } });
  expect(saved.status).toBe(200);
  await editor.request('PUT', `/v1${source}/records/upload`, { body: { data: { megabytes: 25 } } });
  const asked = { status: 'to-review', last_editor_comment: 'enough' };
  expect((await editor.request('PATCH', `/v1${source}`, { body: { data: asked } })).status).toBe(200);
  await sink.received(1);
  expect(await setStatus(reviewer, source, 'to-sign')).toMatchObject({ status: 200 });
  const letters = await sink.received(2);
  expect(letters.map(({ to, text }) => [to, text])).toEqual([
    [['rae@example.org'], 'ReviewRequested of limits: enough (1)'],
    [['ed@example.org'], expect.stringMatching(/^ReviewApproved of limits: .*\(\d+\)$/)],
  ]);
});
