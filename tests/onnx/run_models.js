// Runs every model of a folder with ONNX Runtime and compares with the outputs beside it: node run_models.js FOLDER
const fs = require('fs');
const path = require('path');
const folder = process.argv[2];
const ort = require(path.join(path.resolve(folder), 'node_modules', 'onnxruntime-node'));

const TOLERANCE = 1e-5;
const ARRAYS = {float32: (d) => Float32Array.from(d), int32: (d) => Int32Array.from(d),
                int64: (d) => BigInt64Array.from(d.map(BigInt))};

async function main() {
  const names = fs.readdirSync(folder).filter((f) => f.endsWith('.onnx')).sort();
  if (names.length === 0) throw new Error(folder + ': no models there');
  let failed = 0;
  for (const file of names) {
    const {inputs, output} = JSON.parse(fs.readFileSync(path.join(folder, file.replace('.onnx', '.json'))));
    const session = await ort.InferenceSession.create(path.join(folder, file));
    const feeds = {};
    for (const i of inputs) feeds[i.name] = new ort.Tensor(i.type, ARRAYS[i.type](i.data), i.dims);
    const got = (await session.run(feeds))[output.name];
    if (got.dims.join() !== output.dims.join()) throw new Error(`${file}: shape ${got.dims}, ${output.dims} was expected`);
    let worst = 0, largest = 0;
    output.data.forEach((want, i) => {
      // Not Math.max: it would not let a NaN through to the comparison below as a failure of this one value.
      const difference = Math.abs(got.data[i] - want);
      if (!(difference <= worst)) worst = difference;
      largest = Math.max(largest, Math.abs(want));
    });
    const good = worst <= TOLERANCE && largest > 0.01;
    failed += good ? 0 : 1;
    console.log(`${file}: ${output.data.length} values up to ${largest.toFixed(2)}, largest difference ${worst.toExponential(1)}` +
                (good ? '' : '  FAILED'));
  }
  if (failed) process.exit(1);
}

main().catch((e) => { console.error(e.message); process.exit(1); });
