//! Metrics in JSON.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Exemplar, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge,
    Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum,
    Summary, SummaryDataPoint, exemplar, exponential_histogram_data_point::Buckets, metric::Data,
    number_data_point, summary_data_point::ValueAtQuantile,
};
use serde_json::Value;

use super::super::batch::DecodeError;
use super::fields::{Bad, Fields, Read, float, number};
use super::value::{attributes, resource, scope};
use super::{Faults, groups, leaves, one};

pub(super) fn request(
    root: Fields<'_>,
    faults: &mut Faults,
) -> Result<ExportMetricsServiceRequest, DecodeError> {
    let list = groups(root, "resourceMetrics")?;
    let weight = |value: &Value| leaves(value, &["scopeMetrics", "metrics"]);
    Ok(ExportMetricsServiceRequest {
        resource_metrics: faults.each(list, weight, group),
    })
}

fn group(faults: &mut Faults, value: &Value) -> Read<ResourceMetrics> {
    let fields = Fields::new(value, "resourceMetrics")?;
    let (resource, schema_url) = (resource(fields)?, fields.text("schemaUrl")?);
    let weight = |value: &Value| leaves(value, &["metrics"]);
    Ok(ResourceMetrics {
        resource,
        scope_metrics: faults.each(fields.list("scopeMetrics")?, weight, of_scope),
        schema_url,
    })
}

fn of_scope(faults: &mut Faults, value: &Value) -> Read<ScopeMetrics> {
    let fields = Fields::new(value, "scopeMetrics")?;
    let (scope, schema_url) = (scope(fields)?, fields.text("schemaUrl")?);
    Ok(ScopeMetrics {
        scope,
        metrics: faults.each(fields.list("metrics")?, one, metric),
        schema_url,
    })
}

fn metric(faults: &mut Faults, value: &Value) -> Read<Metric> {
    let fields = Fields::new(value, "metrics")?;
    Ok(Metric {
        name: fields.text("name")?,
        description: fields.text("description")?,
        unit: fields.text("unit")?,
        metadata: attributes(fields, "metadata")?,
        data: data(faults, fields)?,
    })
}

fn data(faults: &mut Faults, fields: Fields<'_>) -> Read<Option<Data>> {
    if let Some(gauge) = fields.object("gauge")? {
        let data_points = points(faults, gauge, plain)?;
        return Ok(Some(Data::Gauge(Gauge { data_points })));
    }
    if let Some(sum) = fields.object("sum")? {
        return Ok(Some(Data::Sum(Sum {
            data_points: points(faults, sum, plain)?,
            aggregation_temporality: temporality(sum)?,
            is_monotonic: sum.truth("isMonotonic")?,
        })));
    }
    if let Some(histogram) = fields.object("histogram")? {
        return Ok(Some(Data::Histogram(Histogram {
            data_points: points(faults, histogram, buckets)?,
            aggregation_temporality: temporality(histogram)?,
        })));
    }
    if let Some(histogram) = fields.object("exponentialHistogram")? {
        return Ok(Some(Data::ExponentialHistogram(ExponentialHistogram {
            data_points: points(faults, histogram, exponential)?,
            aggregation_temporality: temporality(histogram)?,
        })));
    }
    if let Some(summary) = fields.object("summary")? {
        let data_points = points(faults, summary, quantiles)?;
        return Ok(Some(Data::Summary(Summary { data_points })));
    }
    Ok(None)
}

fn points<T>(
    faults: &mut Faults,
    data: Fields<'_>,
    read: fn(Fields<'_>) -> Read<T>,
) -> Read<Vec<T>> {
    let list = data.list("dataPoints")?;
    Ok(faults.each(list, one, |_, value| {
        read(Fields::new(value, "dataPoints")?)
    }))
}

fn temporality(data: Fields<'_>) -> Read<i32> {
    data.choice("aggregationTemporality", |name| {
        AggregationTemporality::from_str_name(name).map(|temporality| temporality as i32)
    })
}

fn plain(fields: Fields<'_>) -> Read<NumberDataPoint> {
    let value = match (fields.float("asDouble")?, fields.get("asInt")) {
        (_, Some(value)) => Some(number_data_point::Value::AsInt(
            number(value).ok_or(Bad("asInt"))?,
        )),
        (Some(value), None) => Some(number_data_point::Value::AsDouble(value)),
        (None, None) => None,
    };
    Ok(NumberDataPoint {
        attributes: attributes(fields, "attributes")?,
        start_time_unix_nano: fields.number("startTimeUnixNano")?,
        time_unix_nano: fields.number("timeUnixNano")?,
        exemplars: fields.each("exemplars", example)?,
        flags: fields.number("flags")?,
        value,
    })
}

fn buckets(fields: Fields<'_>) -> Read<HistogramDataPoint> {
    Ok(HistogramDataPoint {
        attributes: attributes(fields, "attributes")?,
        start_time_unix_nano: fields.number("startTimeUnixNano")?,
        time_unix_nano: fields.number("timeUnixNano")?,
        count: fields.number("count")?,
        sum: fields.float("sum")?,
        bucket_counts: counts(fields)?,
        explicit_bounds: fields.each("explicitBounds", |value| {
            float(value).ok_or(Bad("explicitBounds"))
        })?,
        exemplars: fields.each("exemplars", example)?,
        flags: fields.number("flags")?,
        min: fields.float("min")?,
        max: fields.float("max")?,
    })
}

fn counts(fields: Fields<'_>) -> Read<Vec<u64>> {
    fields.each("bucketCounts", |value| {
        number(value).ok_or(Bad("bucketCounts"))
    })
}

fn exponential(fields: Fields<'_>) -> Read<ExponentialHistogramDataPoint> {
    let side = |key| -> Read<Option<Buckets>> {
        let Some(fields) = fields.object(key)? else {
            return Ok(None);
        };
        Ok(Some(Buckets {
            offset: fields.number("offset")?,
            bucket_counts: counts(fields)?,
        }))
    };
    Ok(ExponentialHistogramDataPoint {
        attributes: attributes(fields, "attributes")?,
        start_time_unix_nano: fields.number("startTimeUnixNano")?,
        time_unix_nano: fields.number("timeUnixNano")?,
        count: fields.number("count")?,
        sum: fields.float("sum")?,
        scale: fields.number("scale")?,
        zero_count: fields.number("zeroCount")?,
        positive: side("positive")?,
        negative: side("negative")?,
        flags: fields.number("flags")?,
        exemplars: fields.each("exemplars", example)?,
        min: fields.float("min")?,
        max: fields.float("max")?,
        zero_threshold: fields.float("zeroThreshold")?.unwrap_or_default(),
    })
}

fn quantiles(fields: Fields<'_>) -> Read<SummaryDataPoint> {
    Ok(SummaryDataPoint {
        attributes: attributes(fields, "attributes")?,
        start_time_unix_nano: fields.number("startTimeUnixNano")?,
        time_unix_nano: fields.number("timeUnixNano")?,
        count: fields.number("count")?,
        sum: fields.float("sum")?.unwrap_or_default(),
        quantile_values: fields.each("quantileValues", |value| {
            let fields = Fields::new(value, "quantileValues")?;
            Ok(ValueAtQuantile {
                quantile: fields.float("quantile")?.unwrap_or_default(),
                value: fields.float("value")?.unwrap_or_default(),
            })
        })?,
        flags: fields.number("flags")?,
    })
}

fn example(value: &Value) -> Read<Exemplar> {
    let fields = Fields::new(value, "exemplars")?;
    let value = match (fields.float("asDouble")?, fields.get("asInt")) {
        (_, Some(value)) => Some(exemplar::Value::AsInt(number(value).ok_or(Bad("asInt"))?)),
        (Some(value), None) => Some(exemplar::Value::AsDouble(value)),
        (None, None) => None,
    };
    Ok(Exemplar {
        filtered_attributes: attributes(fields, "filteredAttributes")?,
        time_unix_nano: fields.number("timeUnixNano")?,
        span_id: fields.id_or_none("spanId", 8),
        trace_id: fields.id_or_none("traceId", 16),
        value,
    })
}
