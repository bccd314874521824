// Embeds the texts of the arguments by the official client and prints what came
// back; and what it makes of a key and a model that are not there.
//
//   node embeddings.mjs BASE_URL KEY MODEL TEXT…
import OpenAI from 'openai';

const [baseURL, apiKey, model, ...input] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 1 });
const refusal = (promise) => promise.then(
  () => null,
  (e) => ({ kind: e.constructor.name, status: e.status, code: e.code, type: e.type, param: e.param }),
);

// Without a format the client asks for base64 and unpacks it itself.
const packed = await client.embeddings.create({ model, input });
const plain = await client.embeddings.create({ model, input, encoding_format: 'float', dimensions: 20 });
const models = [];
for await (const m of client.models.list()) models.push(m.id);

console.log(JSON.stringify({
  vectors: packed.data.map((d) => Array.from(d.embedding)),
  short: plain.data.map((d) => d.embedding),
  tokens: packed.usage.total_tokens,
  models,
  wrongKey: await refusal(new OpenAI({ baseURL, apiKey: `${apiKey}x` }).embeddings.create({ model, input })),
  wrongModel: await refusal(client.embeddings.create({ model: 'text-embedding-3-small', input })),
  empty: await refusal(client.embeddings.create({ model, input: '' })),
}));
