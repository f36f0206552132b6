// Hostile values wherever the console displays one: they never run, never load anything and never become addresses.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { collection, describeConsole, hostile } from './stage.ts';

const script = 'javascript:alert(3)';
const data = 'data:text/html,<script>alert(4)</script>';
const texts = [
  hostile,
  script,
  data,
  '"><svg/onload=alert(5)>',
  "');alert(6)//",
  '\u202Egnp.exe',
  '__proto__',
  '{{7*7}}',
];
const field = { type: 'string', title: hostile, description: hostile, default: script, enum: texts };
const schema = {
  type: 'object',
  title: hostile,
  description: `[link](${script}) ${hostile}`,
  required: [hostile],
  properties: {
    [hostile]: field,
    link: { type: 'string', format: 'uri', title: script, examples: texts },
    color: { type: 'string', format: 'color' },
    list: { type: 'array', title: hostile, items: { ...field, title: script } },
    constructor: { type: 'object', title: hostile, properties: { toString: field } },
  },
};
const uiSchema = {
  'ui:title': hostile,
  'ui:order': ['link', hostile, '*'],
  [hostile]: {
    'ui:widget': hostile,
    'ui:help': hostile,
    'ui:placeholder': hostile,
    'ui:options': { inputType: 'image' },
  },
  link: { 'ui:widget': 'url', 'ui:options': { label: hostile, src: script, innerHTML: hostile } },
};
const displayFields = [hostile, 'link', 'constructor', '__proto__', 'attachment.location', script];

const folder = mkdtempSync(join(tmpdir(), 'coffer-console-'));
afterAll(() => rmSync(folder, { recursive: true }));

const settings = {
  includes: 'admin history default_bucket operations quotas attachments',
  'attachment.base_path': folder,
  operations_read_principals: 'system.Authenticated',
  operations_write_principals: 'system.Authenticated',
};

const bucket = '#/buckets/constructor';
const place = `${bucket}/collections/toString`;
const tabs = ['attributes', 'file', 'schema', 'indexes', 'transfer', 'review', 'members', 'permissions', 'history'];

describeConsole('Hostile values in the console', { settings }, (stage) => {
  /** Returns what would run, load or lead elsewhere on the page. */
  function findFaults(): Promise<readonly string[]> {
    return stage.page.evaluate(`(() => {
      const isOwn = (address) => address.startsWith(location.origin + '/') || address.startsWith('blob:');
      return [...document.querySelectorAll('body *')].flatMap((element) => [
        ...element.getAttributeNames().filter((name) => name.startsWith('on') || name === 'srcdoc'),
        ...(/^(?:iframe|object|embed|base|meta)$/i.test(element.tagName) ? [element.tagName] : []),
        ...(element.tagName === 'SCRIPT' && !isOwn(element.src) ? ['script'] : []),
        // Links to files on other hosts are plain links, which take nothing along.
        ...(element.matches('a[rel="noopener noreferrer"]') && /^https?:$/.test(element.protocol)
          ? []
          : ['href', 'src', 'action', 'formaction', 'xlink:href']
            .map((name) => element.getAttribute(name))
          .filter((value) => value !== null && !isOwn(new URL(value, document.baseURI).href))),
      ]);
    })()`);
  }

  async function visit(hash: string): Promise<void> {
    await stage.visitor.go(hash);
    await stage.page.locator('[aria-busy="true"]').waitFor({ state: 'detached' });
    expect([hash, await findFaults()]).toEqual([hash, []]);
  }

  it('never run, load anything or become addresses.', { timeout: 300_000 }, async () => {
    const { alice, page, visitor } = stage;
    const put = async (path: string, body: object): Promise<void> => {
      expect((await alice.request('PUT', `/v1/buckets/constructor${path}`, { body })).status).toBe(201);
    };
    const permissions = { read: texts };
    const values = { [hostile]: hostile, title: hostile, name: script, description: data, texts };
    await put('', { data: { ...values, displayFields }, permissions });
    await put('/groups/hasOwnProperty', { data: { members: texts, ...values }, permissions });
    await put('/collections/toString', {
      data: { schema, uiSchema, displayFields, sort: `-${hostile}`, attachment: { enabled: true }, ...values },
      permissions,
    });
    const files = [script, data, '//evil.invalid/x', '/v1/admin/', `https:evil`, 'blob:x', 'x:y'];
    for (const [index, location] of files.entries()) {
      const attachment = { location, filename: texts[index], mimetype: 'image/png', size: hostile };
      const record = { ...values, link: texts[index], attachment, list: texts, constructor: { toString: script } };
      await put(`/collections/toString/records/valueOf${index}`, { data: record, permissions });
    }
    const record = '/v1/buckets/constructor/collections/toString/records/valueOf0';
    await alice.request('PATCH', record, { body: { data: { [script]: hostile, link: data } } });
    await alice.request('GET', `/v1/buckets?${encodeURIComponent(hostile)}=1`, { headers: { 'User-Agent': hostile } });
    await visitor.signIn('alice');
    const unknown = encodeURIComponent(hostile);
    const query = texts
      .map((text, index) => `&${encodeURIComponent(text)}=${encodeURIComponent(texts[index]!)}`)
      .join('');
    const places = [bucket, `${bucket}/groups/hasOwnProperty`, place];
    const records = files.map((_file, index) => `${place}/records/valueOf${index}`);
    const views = [
      '#/',
      ...places.flatMap((each) => tabs.map((tab) => `${each}?_tab=${tab}`)),
      ...records.slice(0, 1).flatMap((each) => tabs.map((tab) => `${each}?_tab=${tab}`)),
      ...records.map((each) => `${each}?_tab=file`),
      `${place}?_tab=records&_new=1`,
      `${place}?_tab=records&_new=1&_copy=valueOf0`,
      `${place}?_tab=records&_q=${unknown}&_sort=${unknown}${query}`,
      `${place}?_tab=transfer&_sort=${unknown}${query}`,
      `${place}?_tab=${unknown}${query}`,
      `${place}/records/${unknown}`,
      `#/${unknown}`,
      `#/buckets/${unknown}/collections/${encodeURIComponent(script)}`,
      `#/history?_user=${unknown}&_action=${unknown}&_before=${unknown}`,
      `#/requests?_method=${unknown}&_path=${encodeURIComponent('//evil.invalid/')}&_body=${unknown}${query}`,
      ...['overview', 'log', 'slow', 'settings', 'quotas', 'backups', 'webhooks'].map(
        (tab) => `#/operations?_tab=${tab}&_window=${unknown}&_q=${unknown}`,
      ),
    ];
    for (const hash of views) await visit(hash);
    // An opened change shows its difference.
    await visit(`${place}/records/valueOf0?_tab=history`);
    for (const button of await page.locator('details > summary, [aria-expanded="false"]').all()) {
      if (await button.isVisible()) await button.click();
    }
    expect(await findFaults()).toEqual([]);
    expect((await alice.request('GET', collection)).status).toBe(200);
  });
});
