// Builds the page, serves it on loopback, and does in a browser what a person would; prints what happened, one line each.
//
//   node drive.mjs STEP...        steps: see `steps` below
//
// FRONT_END_MODULES (what npm installed), FRONT_END_BROWSER (Chromium), FRONT_END_PORT, FRONT_END_OUT (a directory for
// the bundle and pictures), FRONT_END_SETTINGS (JSON: gateway, token, agent, conversation).
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const { FRONT_END_MODULES: modules, FRONT_END_BROWSER: browser, FRONT_END_OUT: out } = process.env;
const port = Number(process.env.FRONT_END_PORT);
const settings = JSON.parse(process.env.FRONT_END_SETTINGS);
const here = dirname(fileURLToPath(import.meta.url));
const installed = createRequire(join(modules, 'here.js'));
const PATIENCE = 30_000;

async function bundle() {
  mkdirSync(out, { recursive: true });
  await installed('esbuild').build({
    entryPoints: [join(here, 'page.jsx')],
    bundle: true,
    format: 'iife',
    jsx: 'automatic',
    nodePaths: [modules],
    define: { 'process.env.NODE_ENV': '"production"' },
    outfile: join(out, 'page.js'),
    logLevel: 'warning',
  });
  copyFileSync(join(here, 'index.html'), join(out, 'index.html'));
}

function serve() {
  const files = { '/': ['index.html', 'text/html'], '/page.js': ['page.js', 'text/javascript'] };
  const server = createServer((request, response) => {
    const [file, type] = files[request.url] ?? [];
    if (!file) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(readFileSync(join(out, file)));
  });
  return new Promise(ready => server.listen(port, '127.0.0.1', () => ready(server)));
}

const launched = () =>
  installed('playwright-core').chromium.launch({
    executablePath: browser,
    args: [
      '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking', '--disable-sync',
      '--disable-component-update', '--disable-default-apps', '--no-first-run', '--no-proxy-server', '--metrics-recording-only',
      '--disable-features=Translate,OptimizationHints,MediaRouter', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  });

const say = (...words) => console.log(words.join(' '));
const visible = (page, what) => page.waitForSelector(what, { timeout: PATIENCE });
const status = (page, word) =>
  page.waitForFunction(word => document.querySelector('#status')?.textContent === word, word, { timeout: PATIENCE });
const answers = '[data-role=assistant]';
const answered = (page, text) =>
  page.waitForFunction(
    text => [...document.querySelectorAll('[data-role=assistant]')].at(-1)?.textContent.includes(text),
    text,
    { timeout: PATIENCE },
  );

async function send(page, text) {
  await status(page, 'ready');
  await page.fill('#text', text);
  await page.click('#send');
}

// Every text that the last answer had, as it grew: noted by the page itself, so that no step is missed.
const watched = page =>
  page.evaluate(() => {
    window.grown = [];
    new MutationObserver(() => {
      const texts = [...document.querySelectorAll('[data-role=assistant]')].at(-1)?.querySelectorAll('.text') ?? [];
      const text = [...texts].map(part => part.textContent).join('');
      if (text && window.grown.at(-1) !== text) window.grown.push(text);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });

const steps = {
  async streaming(page) {
    await watched(page);
    await send(page, '!say one |two |three \n!sleep 0.3\n!say four |five \n!sleep 0.3\n!say six');
    await visible(page, '[data-end=done]');
    await status(page, 'ready');
    const grown = await page.evaluate(() => window.grown);
    assert.ok(grown.length >= 3, `only ${JSON.stringify(grown)}`);
    assert.ok(grown.every((text, at) => at === 0 || text.startsWith(grown[at - 1])), JSON.stringify(grown));
    say('streaming:', grown.length, 'steps,', JSON.stringify(grown.at(-1)));
  },

  async tool(page) {
    await send(page, '!think hm\n!tool c1 read read {"path":"notes.txt"}\n!sleep 0.5\n!done c1 what it says\n!say read it');
    await visible(page, '.tool[data-name=read][data-state=input-available]');
    say('tool: called');
    await visible(page, '.tool[data-name=read][data-state=output-available] .output');
    say('tool: returned', await page.textContent('.tool[data-name=read] .output'));
    assert.equal(await page.textContent('.reasoning'), 'hm');
    await status(page, 'ready');
  },

  async permission(page) {
    for (const [id, button, chosen, state] of [
      ['c2', '.allow', '[allow]', 'output-available'],
      ['c3', '.refuse', '[reject]', 'output-denied'],
    ]) {
      const end = id === 'c2' ? '!done c2 gone' : '!fail c3 refused';
      await send(page, `!tool ${id} remove${id} delete {"path":"x"}\n!ask ${id} Remove x?\n${end}`);
      await visible(page, `.tool[data-name=remove${id}][data-state=approval-requested]`);
      assert.match(await page.textContent('.permission'), /Remove x\?/);
      await page.screenshot({ path: join(out, `permission-${id}.png`) });
      await page.click(button);
      await visible(page, `.tool[data-name=remove${id}][data-state=${state}]`);
      await status(page, 'ready');
      assert.ok((await page.textContent(`${answers} >> nth=-1`)).includes(chosen));
      say('permission:', chosen);
    }
  },

  async stop(page) {
    await send(page, '!say begun \n!sleep 60\n!say never');
    await answered(page, 'begun');
    await page.click('#stop');
    await visible(page, '[data-end=cancelled]');
    await status(page, 'ready');
    assert.ok(!(await page.textContent(`${answers} >> nth=-1`)).includes('never'));
    say('stop: cancelled');
  },

  async reload(page) {
    const before = await page.locator(answers).count();
    await send(page, '!say early \n!sleep 3\n!say late');
    await answered(page, 'early');
    await page.reload();
    await page.waitForFunction(n => document.querySelectorAll('[data-role=assistant]').length === n, before + 1, { timeout: PATIENCE });
    const resumed = await page.textContent(`${answers} >> nth=-1`);
    assert.equal(resumed.trim(), 'early');
    await visible(page, `[data-end=done]`);
    await status(page, 'ready');
    assert.equal((await page.textContent(`${answers} >> nth=-1`)).trim(), 'early late');
    say('reload: resumed', JSON.stringify(resumed.trim()));
    await page.reload();
    await status(page, 'ready');
    assert.equal(await page.locator(answers).count(), before + 1);
    assert.equal((await page.textContent(`${answers} >> nth=-1`)).trim(), 'early late');
    say('reload: told again');
  },

  async refused(page) {
    // A page of an origin that nobody named gets nothing.
    await page.waitForFunction(() => window.failures?.length > 0, null, { timeout: PATIENCE });
    say('refused:', await page.evaluate(() => window.failures[0]));
  },

  // Whatever agent it is: it answers.
  async any(page) {
    await send(page, process.env.FRONT_END_PROMPT);
    await visible(page, '[data-end=done]');
    say('any:', JSON.stringify((await page.textContent(`${answers} >> nth=-1`)).trim()));
  },
};

await bundle();
const server = await serve();
const chromium = await launched();
let failed;
try {
  const page = await chromium.newPage({ viewport: { width: 900, height: 1000 } });
  page.on('pageerror', error => say('page error:', error.message));
  await page.addInitScript(settings => {
    window.settings = settings;
    window.failures = [];
    window.addEventListener('unhandledrejection', event => window.failures.push(String(event.reason)));
  }, settings);
  await page.goto(`http://127.0.0.1:${port}/`);
  for (const step of process.argv.slice(2)) {
    try {
      await steps[step](page);
    } catch (error) {
      failed = error;
      console.error(`${step}: ${error.stack}\n${await page.textContent('body')}`);
      await page.screenshot({ path: join(out, 'failed.png'), fullPage: true });
      break;
    }
  }
  await page.screenshot({ path: join(out, 'page.png'), fullPage: true });
} finally {
  await chromium.close();
  server.close();
}
process.exitCode = failed ? 1 : 0;
