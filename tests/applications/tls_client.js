// ioredis over TLS with a certificate of its own: commands, a pipeline, MULTI, a large value, pub/sub.
const fs = require("fs");
const Redis = require("ioredis");

const [port, directory] = process.argv.slice(2);
const read = (name) => fs.readFileSync(`${directory}/${name}`);
const tls = { ca: read("ca.pem"), cert: read("client.pem"), key: read("client.key") };

async function main() {
  const client = new Redis({ host: "127.0.0.1", port: Number(port), tls });
  const seen = { who: await client.acl("WHOAMI") };
  await client.set("k", "v");
  seen.value = await client.get("k");
  seen.pipeline = (await client.pipeline().incr("n").incr("n").exec()).map(([, value]) => value);
  seen.multi = (await client.multi().set("m", 1).get("m").exec()).map(([, value]) => value);
  const large = "x".repeat(3_000_000);
  await client.set("large", large);
  seen.large = (await client.get("large")) === large;
  const subscriber = client.duplicate();
  const message = new Promise((resolve) => subscriber.on("message", (...words) => resolve(words)));
  await subscriber.subscribe("news");
  await client.publish("news", "hello");
  seen.message = await message;
  console.log(JSON.stringify(seen));
  subscriber.disconnect();
  client.disconnect();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
