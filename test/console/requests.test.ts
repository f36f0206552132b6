// Requests in the console: views as code, and the request runner.
import { runInThisContext } from 'node:vm';
import { KintoClient } from 'kinto';
import { beforeEach, expect, it } from 'vitest';
import { collection, collectionView, describeConsole } from './stage.ts';

describeConsole('Requests in the console', {}, (stage) => {
  beforeEach(async () => {
    await stage.store({ bread: '{"title":"Bread","price":12345678901234567890.10}' });
    await stage.visitor.signIn('alice');
  });

  const code = async (language: string): Promise<string> => {
    await stage.press(language);
    return (await stage.page.locator('.code pre').textContent()) ?? '';
  };
  const path = () => stage.page.getByLabel('Path below /v1/');
  /** Sends the request of the form, and waits for a response with this text. */
  const send = async (expected: string | RegExp): Promise<void> => {
    await stage.press('Send');
    await expect.poll(() => stage.page.locator('.response').innerText()).toMatch(expected);
  };

  it('shows the request of each view as curl, fetch and kinto.js, without secrets.', async () => {
    const { page, service, visitor } = stage;
    for (const [view, expected] of [
      ['#/', 'buckets'],
      ['#/buckets/kitchen', 'buckets/kitchen/collections'],
      ['#/buckets/kitchen?_tab=groups', 'buckets/kitchen/groups'],
      [`${collectionView}?_tab=permissions`, 'buckets/kitchen/collections/recipes'],
      [`${collectionView}/records/bread`, 'buckets/kitchen/collections/recipes/records/bread'],
      [`${collectionView}/records/bread?_tab=history`, 'buckets/kitchen/history?collection_id=recipes&record_id=bread'],
      [
        `${collectionView}?_sort=-n&like_title=it's`,
        'buckets/kitchen/collections/recipes/records?_sort=-n&like_title=it%27s',
      ],
    ] as const) {
      await visitor.go(view);
      await page.getByRole('link', { name: 'Request', exact: true }).click();
      await expect.poll(() => path().inputValue()).toBe(expected);
    }
    const url = `${service.origin}${collection}/records?_sort=-n&like_title=it%27s`;
    expect(await code('curl')).toBe(`curl \\\n  -u "$NAME:$PASSWORD" \\\n  '${url}'`);
    expect(await code('fetch')).toContain(`await fetch('${url}', {`);
    expect(await code('kinto.js')).toContain(
      "client.bucket('kitchen').collection('recipes').listRecords({\n  filters: {\n    'like_title': \"it's\",",
    );
    const everything = `${await code('curl')}${await code('fetch')}${await code('kinto.js')}`;
    expect(everything).not.toContain('secret of alice');
    expect(everything).not.toContain(Buffer.from('alice:').toString('base64').slice(0, 6));
  });

  it('writes code that does what it says: the fetch runs, and a shell reads the texts of curl.', async () => {
    const { alice, page, visitor } = stage;
    await visitor.go(`#/requests?_method=PATCH&_path=${encodeURIComponent(`${collection}/records/bread`)}`);
    await page.getByLabel('Headers', { exact: true }).fill("X-Note: it's\nauthorization: Bearer my-secret");
    await page
      .getByLabel('Body', { exact: true })
      .fill(`{"data": {"title": "O'Brien's \\u003c/script> \`$(x)\` \${y}"}}`);
    const curl = await code('curl');
    expect(curl).toContain('-H "Authorization: Bearer $TOKEN"');
    expect(curl).toContain(String.raw`-H 'X-Note: it'\''s'`);
    expect(curl).toContain(String.raw`--data-raw '{"data": {"title": "O'\''Brien'\''s`);
    expect(`${curl}${await code('fetch')}${await code('kinto.js')}`).not.toContain('my-secret');

    await page.getByLabel('Headers', { exact: true }).fill('X-Note: 1');
    const text = (await code('fetch')).replace("['NAME', 'PASSWORD']", "['alice', 'secret of alice']");
    await page.evaluate(`(async () => { ${text} })()`);
    expect((await alice.request('GET', `${collection}/records/bread`)).body).toMatchObject({
      data: { title: "O'Brien's </script> `$(x)` ${y}" },
    });

    await page.getByLabel('Body', { exact: true }).fill(`{"data": {"title": "By 'kinto.js'"}}`);
    await runKinto(await code('kinto.js'));
    const { text: changed } = await alice.request('GET', `${collection}/records/bread`);
    expect(changed).toContain(`"title":"By 'kinto.js'"`);
    // An unsent body is unsaved work.
    await page.getByLabel('Body', { exact: true }).fill('');
    await visitor.go(`${collectionView}?title=By 'kinto.js'&_sort=-title`);
    await page.getByRole('link', { name: 'Request', exact: true }).click();
    expect(await runKinto(await code('kinto.js'))).toMatchObject([{ id: 'bread' }]);
  });

  /** Runs the code for kinto.js as alice, and returns what it logs. */
  async function runKinto(text: string): Promise<unknown> {
    const [first = '', ...lines] = text.replace("['NAME', 'PASSWORD']", "['alice', 'secret of alice']").split('\n');
    expect(first).toBe("import { KintoClient } from 'kinto';");
    type Run = (client: typeof KintoClient, log: { log: (value: unknown) => void }) => Promise<void>;
    const run = runInThisContext(`(async (KintoClient, console) => {${lines.join('\n')}})`) as Run;
    let logged: unknown;
    await run(KintoClient, {
      log: (value) => {
        logged = value;
      },
    });
    return logged;
  }

  it('sends requests and shows responses exactly, with status and time.', async () => {
    const { alice, page, visitor } = stage;
    await visitor.go('#/requests');
    await path().fill('/v1/buckets/kitchen/collections/recipes/records/bread');
    await send('"price": 12345678901234567890.10');
    await page.getByText(/^Status 200, \d+ ms, \d+ bytes$/).waitFor();
    await page.getByLabel('Method').selectOption('POST');
    await path().fill('buckets/kitchen/collections/recipes/records');
    await page.getByLabel('Body', { exact: true }).fill('{"data": {"id": "soup", "n": 1.50}}');
    await send('Status 201');
    expect((await alice.request('GET', `${collection}/records/soup`)).text).toContain('"n":1.50');
    await path().fill('nothing/here');
    await send('"errno": 111');
    // The request is in the address, its body is not.
    expect(page.url()).toContain('#/requests?_method=POST&_path=nothing%2Fhere');
  });

  it('asks before it deletes and replaces.', async () => {
    const { alice, page, visitor } = stage;
    await visitor.go(`#/requests?_method=DELETE&_path=buckets%2Fkitchen`);
    await stage.press('Send');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    expect((await alice.request('GET', '/v1/buckets/kitchen')).status).toBe(200);
    await stage.press('Send');
    await page.getByLabel('Type DELETE to continue').fill('DELETE');
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click();
    await page.getByText(/^Status 200/).waitFor();
    expect((await alice.request('GET', '/v1/buckets')).body).toEqual({ data: [] });
    await page.getByLabel('Method').selectOption('PUT');
    await stage.press('Send');
    await stage.press('Do not send');
    expect((await alice.request('GET', '/v1/buckets')).body).toEqual({ data: [] });
  });

  it('takes neither methods nor disguised paths from a link that it would not ask about.', async () => {
    const { alice, page, visitor } = stage;
    for (const method of ['delete', "GET'; touch x;'", '$(touch x)', 'DELETE ']) {
      await visitor.go(`#/requests?_method=${encodeURIComponent(method)}&_path=buckets%2Fkitchen`);
      expect(await page.getByLabel('Method').inputValue()).toBe('GET');
      expect(await page.getByLabel('The request as curl').innerText()).not.toContain('touch');
      await send('Status 200');
    }
    expect((await alice.request('GET', '/v1/buckets/kitchen')).status).toBe(200);
    await visitor.go(`#/requests?_method=POST&_path=${encodeURIComponent('_%5Fflush_%5F')}`);
    await stage.press('Send');
    await page.getByLabel('Type POST to continue').waitFor();
  });

  it('sends to this service only.', async () => {
    const { page, visitor } = stage;
    await visitor.go('#/requests');
    for (const outside of ['../../other', '..', '../v2/']) {
      await path().fill(outside);
      await page.getByText('The path must be below the API of this service.').first().waitFor();
      await stage.press('Send');
      await page.getByRole('alert').getByText('The path must be below the API of this service.').waitFor();
    }
    for (const strange of ['http://192.0.2.1/', '//192.0.2.1/', String.raw`\\192.0.2.1`, 'javascript:alert(1)']) {
      await path().fill(strange);
      await send(/Status 4\d\d/);
    }
  });

  it('is accessible in light, in dark and on a phone, with a response.', async () => {
    const { page, visitor } = stage;
    await visitor.go('#/requests');
    await send('Status 200');
    await stage.checkViews(['#/requests', '#/requests?_method=PATCH&_path=buckets%2Fkitchen']);
    await page.getByRole('link', { name: 'Reference of the API' }).waitFor();
  });
});
